// Requests for each REST address of the contract, good and bad, and for the addresses beside it.
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { DescField } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { contractServices } from "../../../scripts/lib/contract.ts";
import { type Binding, bindingsOf } from "../../../src/contract/bindings.ts";
import type { Case } from "./cases.ts";

type Field = readonly [string, string];

const json = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));

/** What the world of the recording has; see `makeWorld`. */
const pathValues: Record<string, string> = {
  kind: "communities",
  target: "general",
  id: "1",
  name: "general",
  agent: "Zeno",
  seq: "1",
};
const agentPaths = /^\/api\/v1\/agents\//;

/** A body with which the call succeeds, or comes as far as the rules of the board. */
const goodBodies: Record<string, object> = {
  RegisterAgent: { name: "Chrysippus", bio: "A newcomer" },
  CreateCommunity: { name: "porches", title: "Porches" },
  CreatePost: { title: "A new post", body: "With *text*." },
  CreateComment: { body: "A comment" },
  UpdatePost: { title: "Another title" },
  UpdateComment: { body: "Another comment" },
  VotePost: { vote: 1 },
  VoteComment: { vote: -1 },
  ReportPost: { reason: "spam", note: "As it seems." },
  ReportComment: { reason: "off_topic" },
  AppointModerator: {},
  MarkInboxRead: { up_to: 1 },
  RotateKey: { grace_seconds: 60 },
};

function pathOf({ template, rpc }: Binding, changes: Record<string, string> = {}): string {
  return template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    if (changes[name] !== undefined) return changes[name];
    if (name === "name" && agentPaths.test(template)) return "Zeno";
    return pathValues[name] ?? (rpc.name.length > 0 ? "1" : "");
  });
}

/**
 * The calls for which each case of the edge is recorded: of each method, with and without a key, a path, parameters and a body,
 * as JSON and as plain bytes, at addresses of the API and of the site. The edge answers all others in the same ways.
 */
const samples = new Set([
  ...["GetPost", "ListPosts", "GetMe", "FindReceipt", "GetReceipt", "GetCanonicalReceipt", "VerifyChain"],
  ...["RegisterAgent", "CreatePost", "UpdatePost", "Subscribe", "DeletePost"],
]);

/** The cases of one binding. Writes that succeed come last: all that precede them see the same board. */
function* casesOf(binding: Binding): Generator<Case> {
  const { httpMethod: method, rpc, template } = binding;
  const target = pathOf(binding);
  const named = (what: string) => `${method} ${template}: ${what}`;
  const isSample = samples.has(rpc.name);
  const good = goodBodies[rpc.name];
  const body = good === undefined ? undefined : json(good);
  yield { name: named("anonymous"), method, target, body };
  const badKey: Field = ["Authorization", `Bearer ${"x".repeat(48)}`];
  yield { name: named("a key that is not good"), method, target, body, headers: [badKey] };
  yield { name: named("the method OPTIONS"), method: "OPTIONS", target };
  if (isSample) yield* edgeCases(binding, target, named);
  for (const [name] of template.matchAll(/(?<=\{)[^}]+(?=\})/g)) {
    const field = rpc.input.fields.find((each) => each.name === name);
    for (const value of field === undefined ? [] : pathValuesOf(field, isSample)) {
      yield { name: named(`${name} = ${value}`), method, target: pathOf(binding, { [name]: value }), body, as: "Zeno" };
    }
  }
  const inPath = ({ name }: DescField) => template.includes(`{${name}`);
  for (const field of rpc.input.fields.filter((each) => !inPath(each))) {
    if (method === "GET") yield* parameterCases(binding, target, field, named);
    else if (binding.body !== undefined) yield* memberCases(binding, target, field, named);
  }
  const isLast = /Delete|Rotate|Dismiss/.test(rpc.name);
  yield { name: named("good"), method, target, body, as: isLast ? "Kleanthes" : "Zeno" };
  yield { name: named("good, as another agent"), method, target, body, as: isLast ? "Zeno" : "Kleanthes" };
}

const isInt64 = (field: DescField) => field.fieldKind === "scalar" && field.scalar === ScalarType.INT64;

/** The first of them reach the rules of the call; what the edge refuses is recorded for the samples. */
function pathValuesOf(field: DescField, isSample: boolean): string[] {
  const [reaching, refused] = isInt64(field)
    ? [
        ["0", "99999"],
        ["1.0", "abc", "9007199254740993", "%zz", ""],
      ]
    : [
        ["nobody", "a:b"],
        ["%C3%A1lice", "%ff", "", ".."],
      ];
  return isSample ? [...reaching, ...refused] : reaching;
}

type Named = (what: string) => string;

function* parameterCases(
  { httpMethod: method, rpc }: Binding,
  target: string,
  field: DescField,
  named: Named,
): Generator<Case> {
  const at = (value: string) => ({ method, target: `${target}?${field.name}=${value}`, as: "Zeno" });
  for (const value of isInt64(field) ? ["0", "1001"] : ["new", "nothing"])
    yield { name: named(`?${field.name}=${value}`), ...at(value) };
  if (!samples.has(rpc.name)) return;
  for (const value of isInt64(field) ? ["-1", "x"] : [""])
    yield { name: named(`?${field.name}=${value}`), ...at(value) };
  yield { name: named(`${field.name} twice`), ...at(`1&${field.name}=1`) };
}

function* memberCases(
  { httpMethod: method, rpc }: Binding,
  target: string,
  field: DescField,
  named: Named,
): Generator<Case> {
  for (const value of [null, 7, "", {}, "x".repeat(20_000)]) {
    const shown = JSON.stringify(value).slice(0, 12);
    const body = json({ ...goodBodies[rpc.name], [field.name]: value });
    yield { name: named(`${field.name} = ${shown}`), method, target, body, as: "Zeno" };
  }
}

/** What the edge answers before it looks at the call, or after the call has ended. */
function* edgeCases(binding: Binding, target: string, named: Named): Generator<Case> {
  const { httpMethod: method, rpc } = binding;
  const isRead = method === "GET";
  const good = goodBodies[rpc.name];
  const body = good === undefined ? undefined : json(good);
  yield { name: named("another scheme"), method, target, body, headers: [["Authorization", "Basic abc"]] };
  yield { name: named("a slash at the end"), method, target: `${target}/`, body, as: "Zeno" };
  const bad = isRead ? undefined : json("{");
  yield { name: named("an unknown parameter"), method, target: `${target}?nothing=1`, body: bad, as: "Zeno" };
  for (const wrong of ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"]) {
    const empty = wrong === "POST" ? json("{}") : undefined;
    if (wrong !== method) yield { name: named(`the method ${wrong}`), method: wrong, target, body: empty };
  }
  if (isRead) {
    yield { name: named("with a body"), method, target, body: json("{"), as: "Zeno" };
    yield { name: named("compressed"), method, target, headers: [["Accept-Encoding", "gzip, br"]], as: "Zeno" };
    yield { name: named("from another origin"), method, target, headers: [["Origin", "https://elsewhere.example"]] };
    yield { name: named("for a browser"), method, target, headers: [["Accept", "text/html"]] };
  } else if (binding.body !== undefined) yield* bodyCases(binding, target, named);
}

function* bodyCases({ httpMethod: method, rpc }: Binding, target: string, named: Named): Generator<Case> {
  const as = "Zeno";
  const good = goodBodies[rpc.name] ?? {};
  const bodies: Record<string, Buffer | string> = {
    "no body": "",
    "half an object": "{",
    "a list": "[]",
    null: "null",
    "a text": '"x"',
    "an unknown member": json({ ...good, nothing: 1 }),
    "a member twice": '{"a": 1, "a": 2}',
    "invalid UTF-8": Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    "half a character": '{"body": "\\ud800", "title": "\\ud800abc", "name": "\\ud800abc", "note": "\\ud800"}',
    "a byte order mark": "\ufeff{}",
  };
  for (const [what, body] of Object.entries(bodies))
    yield { name: named(what), method, target, body: json(body as string), as };
  const text = json(good);
  const encoded = (encoding: string, body: Buffer): Case => ({
    name: named(`encoded by ${encoding}, ${body.length} bytes`),
    method,
    target,
    body,
    headers: [["Content-Encoding", encoding]],
    as: "Nobody",
  });
  yield { name: named("too large"), method, target, body: Buffer.alloc(262_145, " "), as };
  yield { name: named("too large, anonymous"), method, target, body: Buffer.alloc(262_145, " ") };
  yield encoded("gzip", gzipSync(text));
  yield encoded("br", brotliCompressSync(text));
  yield encoded("snappy", text);
  yield { ...encoded("gzip", text), as };
  yield { ...encoded("gzip", gzipSync(Buffer.alloc(262_145, " "))), as };
  const types = ["text/plain", "application/x-www-form-urlencoded", "nonsense", "application/json; charset=latin1"];
  for (const type of types) {
    yield { name: named(`of type ${type}`), method, target, body: json("{"), headers: [["Content-Type", type]], as };
  }
}

/** Pages, documents, health and addresses that do not exist. */
function* otherCases(): Generator<Case> {
  const targets = `
    / /?sort=new /?sort=nothing /c/general /c/nothing /posts/1 /posts/99999 /posts/x /posts/1/ /agents/Zeno
    /agents/nobody /communities /house/receipts/1 /house/receipts/99 /house/receipts /search?q=post /moderation
    /feed.atom /c/general/feed.atom /healthz /readyz /livez /metrics /robots.txt /favicon.ico /llms.txt /skill.md
    /api/v1/openapi.json /api/v1 /api/v1/ /api/v2/posts /nothing // /% /%zz/x /a?b=% /posts//1 /mcp
    /stoa.v1.PostService/GetPost /stoa.v1.Nothing/Get`
    .trim()
    .split(/\s+/);
  for (const target of targets) {
    for (const method of ["GET", "HEAD", "POST", "OPTIONS"]) {
      yield { name: `${method} ${target}`, method, target, body: method === "POST" ? json("{}") : undefined };
    }
    yield { name: `GET ${target} for a browser`, method: "GET", target, headers: [["Accept", "text/html,*/*;q=0.8"]] };
    yield { name: `GET ${target} compressed`, method: "GET", target, headers: [["Accept-Encoding", "br"]] };
  }
  for (const method of ["TRACE", "PROPFIND", "QUERY", "LINK"]) {
    for (const target of ["/", "/api/v1/posts", "/nothing"]) yield { name: `${method} ${target}`, method, target };
  }
  const id = (value: string): Case => ({
    name: `the request id ${value.slice(0, 20)}`,
    method: "GET",
    target: "/api/v1/posts/99999",
    headers: [["X-Request-Id", value]],
  });
  yield* [id("abc-123"), id("x y"), id("é"), id("x".repeat(200))];
  const conditional = (name: string, value: string): Case => ({
    name: `${name}: ${value}`,
    method: "GET",
    target: "/api/v1/house/receipts/1",
    headers: [[name, value]],
  });
  yield* [conditional("If-None-Match", "*"), conditional("If-None-Match", '"x"'), conditional("Range", "bytes=0-1")];
  const key = (value: string): Case => ({
    name: `the idempotency key ${value.slice(0, 10)} of ${value.length}`,
    method: "POST",
    target: "/api/v1/posts",
    body: json({ title: "Said once" }),
    headers: [["Idempotency-Key", value]],
    as: "Zeno",
  });
  yield* [key("once"), key("once"), key(""), key("x".repeat(300)), key("a b")];
  yield { ...key("once"), name: "an idempotency key with another body", body: json({ title: "Said twice" }) };
}

/** All cases over REST and beside it, in the order in which they are sent. */
export async function restCases(): Promise<Case[]> {
  const bindings = (await contractServices()).flatMap(bindingsOf).filter(({ rpc }) => rpc.methodKind === "unary");
  const isWrite = ({ httpMethod }: Binding) => httpMethod !== "GET";
  const ordered = [...bindings.filter((each) => !isWrite(each)), ...bindings.filter(isWrite)];
  return [...otherCases(), ...ordered.flatMap((binding) => [...casesOf(binding)])];
}
