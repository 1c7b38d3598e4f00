// Requests for a binding of the contract: most of them nearly right.
import fc, { type Arbitrary } from "fast-check";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import { jsonBodies, rarely } from "./bodies.ts";
import type { RestBinding } from "./contract.ts";
import { framings } from "./framings.ts";
import { authorizations, type Header, oddHeaders } from "./headers.ts";
import type { RawRequest } from "./raw-http.ts";
import { type Known, textOf } from "./values.ts";

export interface World {
  known: Known;
  /** API keys that work. */
  keys: string[];
}

export function requestFor(binding: RestBinding, { known, keys }: World): Arbitrary<RawRequest> {
  const authorization = binding.access === Access.PUBLIC ? fc.constant<Header[]>([]) : authorizations(keys);
  const method = fc.oneof({ weight: 30, arbitrary: fc.constant(binding.method) }, fc.constantFrom(...methods));
  const parts = fc.record({ method, target: targets(binding, known), authorization, odd: oddHeaders });
  const body = binding.hasBody
    ? jsonBodies(bodyFields(binding), known)
    : fc.oneof({ weight: 6, arbitrary: fc.constant("") }, fc.string());
  return fc.tuple(parts, body, framings).map(([{ method, target, authorization, odd }, text, frame]) => {
    const { headers, body, isCutOff } = frame(Buffer.from(text, "latin1"));
    const fixed: Header[] = [
      ["Host", "127.0.0.1"],
      ["Connection", "close"],
    ];
    return { method, target, headers: [...fixed, ...authorization, ...odd, ...headers], body, isCutOff };
  });
}

const bodyFields = ({ rpc, template }: RestBinding) =>
  rpc.input.fields.filter(({ name }) => !template.includes(`{${name}}`));

const methods = ["GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "get", "X"];

/** The path with its variables filled in, and a query. */
function targets({ rpc, template, hasBody }: RestBinding, known: Known): Arbitrary<string> {
  const field = (name: string) => rpc.input.fields.find((each) => each.name === name);
  const literal = template.split(/\{([^}]*)\}/);
  const segments = literal.map((part, index) => {
    const variable = index % 2 === 1 ? field(part) : undefined;
    if (variable === undefined) return fc.constant(part);
    return fc.oneof(
      { weight: 8, arbitrary: textOf(variable, known).map(percentEncode) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("", "%", "%zz", "%ff", "%00", "..", "a%2Fb", "%2F", ":", "*", "1/", "+1", "%31"),
      },
    );
  });
  const inPath = new Set(literal.filter((_, index) => index % 2 === 1));
  const parameters = hasBody ? [] : rpc.input.fields.filter(({ name }) => !inPath.has(name));
  const pairs = parameters.map((each) =>
    fc.tuple(fc.constant(each.name), textOf(each, known).map(percentEncode)).map((pair) => pair.join("=")),
  );
  const odd = fc.constantFrom(
    ..."& = %zz=1 a=%zz limit limit=1&limit=1 %6cimit=1 a[]=1 ok=false __proto__=1".split(" "),
  );
  const query = fc
    .tuple(
      ...pairs.map((pair) => fc.option(pair, { nil: undefined, freq: 2 })),
      rarely(odd),
      rarely(fc.string({ unit: fc.constantFrom(..."abc=&%+;#?/[]|^`{}~'") })),
    )
    .map((each) => each.filter((pair) => pair !== undefined));
  return fc.tuple(fc.tuple(...segments), query).map(([path, each]) => {
    return each.length === 0 ? path.join("") : `${path.join("")}?${each.join("&")}`;
  });
}

/** Lone surrogates have no encoding: their bytes are not UTF-8. */
function percentEncode(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : text.replace(/[^a-z0-9]/gi, "%ed%a0%80");
}
