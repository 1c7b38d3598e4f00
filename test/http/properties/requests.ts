// Requests for a binding of the contract: most of them nearly right.
import fc, { type Arbitrary } from "fast-check";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import type { RestBinding } from "./contract.ts";
import type { RawRequest } from "./raw-http.ts";
import { jsonOf, type Known, textOf } from "./values.ts";

export interface World {
  known: Known;
  /** API keys that work. */
  keys: string[];
}

type Header = [string, string];

export function requestFor(binding: RestBinding, { known, keys }: World): Arbitrary<RawRequest> {
  const authorization = binding.access === Access.PUBLIC ? fc.constant<Header[]>([]) : authorizations(keys);
  const method = fc.oneof({ weight: 30, arbitrary: fc.constant(binding.method) }, fc.constantFrom(...methods));
  const parts = fc.record({ method, target: targets(binding, known), authorization, odd: oddHeaders });
  const body = binding.hasBody
    ? bodies(binding, known)
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

const rarely = <T>(arbitrary: Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const methods = ["GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "get", "X"];

function authorizations(keys: string[]): Arbitrary<Header[]> {
  const [key = ""] = keys;
  const good = fc.constantFrom(...keys).map((each): Header[] => [["Authorization", `Bearer ${each}`]]);
  const odd = fc.constantFrom<Header[]>(
    [],
    [["authorization", `bearer ${key}`]],
    [["Authorization", `Bearer  ${key} `]],
    [["Authorization", key]],
    [["Authorization", `Bearer ${key.slice(0, -1)}`]],
    [["Authorization", `Bearer ${key}x`]],
    [["Authorization", `Basic ${btoa(key)}`]],
    [
      ["Authorization", `Bearer ${key}`],
      ["Authorization", `Bearer ${key}`],
    ],
    [["Authorization", "Bearer"]],
  );
  return fc.oneof(
    { weight: 8, arbitrary: good },
    odd,
    oddValue.map((value): Header[] => [["Authorization", value]]),
  );
}

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
        arbitrary: fc.constantFrom(
          "",
          "%",
          "%zz",
          "%ff",
          "%00",
          "..",
          ".",
          "a%2Fb",
          "%2F",
          ":",
          "*",
          "1/",
          "+1",
          "%31",
        ),
      },
    );
  });
  const inPath = new Set(literal.filter((_, index) => index % 2 === 1));
  const parameters = hasBody ? [] : rpc.input.fields.filter(({ name }) => !inPath.has(name));
  const pairs = parameters.map((each) =>
    fc.tuple(fc.constant(each.name), textOf(each, known).map(percentEncode)).map((pair) => pair.join("=")),
  );
  const odd = fc.constantFrom(
    "&",
    "=",
    "%zz=1",
    "a=%zz",
    "limit",
    "limit=1&limit=1",
    "%6cimit=1",
    "a[]=1",
    "ok=false",
    "__proto__=1",
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

/** JSON texts for a message, as the Latin-1 of their bytes. */
function bodies({ rpc, template }: RestBinding, known: Known): Arbitrary<string> {
  const fields = rpc.input.fields.filter(({ name }) => !template.includes(`{${name}}`));
  const members = fc.tuple(
    ...fields.map((field) =>
      fc.option(
        jsonOf(field, known).map((json) => `${JSON.stringify(field.name)}:${json}`),
        { nil: undefined, freq: 7 },
      ),
    ),
  );
  const more = fc.constantFrom(
    '"extra":1',
    '"__proto__":{}',
    '"ok":false',
    '"title":"again"',
    '"name":"again"',
    '"\\u0000":0',
    "",
  );
  const object = fc.tuple(members, rarely(more)).map(([each, extra]) => {
    return Buffer.from(`{${[...each, extra].filter((member) => member !== undefined).join(",")}}`).toString("latin1");
  });
  const broken = fc.tuple(
    object,
    fc.nat(),
    fc.constantFrom("", "\u0000", "\xff", "\xed\xa0\x80", "}", ",", '"', "\xef\xbb\xbf"),
  );
  return fc.oneof(
    { weight: 12, arbitrary: object },
    {
      weight: 2,
      arbitrary: broken.map(([text, at, put]) => {
        const n = at % (text.length + 1);
        return text.slice(0, n) + put + text.slice(n);
      }),
    },
    { weight: 1, arbitrary: broken.map(([text, at]) => text.slice(0, at % (text.length + 1))) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "",
        "null",
        "[]",
        '"text"',
        "5",
        "{}",
        "\xef\xbb\xbf{}",
        " {} ",
        "{}{}",
        `{"a":"${"x".repeat(270_000)}"}`,
      ),
    },
  );
}

const oddValue = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 300 }),
  fc.constantFrom("", " ", ",", ";", "*", "null", "\u0000", "\x7f", "\t", "a,b", "x".repeat(8_000), "x".repeat(20_000)),
  fc.constantFrom("1", "-1", "0", "999999999999999999999", "identity", "chunked", "q=2", "\xff\xfe", "😀".slice(0, 0)),
);

const fitting: { [name: string]: string[] } = {
  "Idempotency-Key": [
    "k",
    "x".repeat(15),
    "0123456789abcdef",
    "x".repeat(128),
    "x".repeat(129),
    "a key of words with spaces",
  ],
  "Content-Type": [
    "application/json",
    "text/plain",
    "application/json; charset=utf-16",
    "application/grpc",
    "application/x-www-form-urlencoded",
    "/",
    "multipart/form-data",
  ],
  Accept: ["*/*", "application/json", "text/html", "text/event-stream", "application/xml;q=0", "a/b;q=x"],
  "Accept-Encoding": ["gzip", "br", "deflate", "identity;q=0", "*", "*;q=0", "gzip;q=1.0, br;q=0.5", "zstd"],
  "X-Request-Id": ["mine", "a b", "x".repeat(128), "x".repeat(129)],
  "X-Forwarded-For": ["1.2.3.4", "::1", "1.2.3.4, 5.6.7.8", "unknown", "999.1.1.1"],
  "If-None-Match": ["*", '"a"', 'W/"a"', '"', "a, b"],
  "Last-Event-ID": ["0", "1", "9007199254740991", "9007199254740992", "99999999999999999999", "-1", "r:1"],
  "Content-Encoding": ["gzip", "br", "identity"],
  "Connect-Protocol-Version": ["1", "2"],
  "Connect-Timeout-Ms": ["0", "1", "x", "99999999999"],
  "Grpc-Timeout": ["1n", "x"],
  Expect: ["100-continue", "200-ok"],
  Upgrade: ["h2c", "websocket"],
  Range: ["bytes=0-1"],
  Cookie: ["a=b"],
  Origin: ["null", "http://example.org"],
  Host: ["", "a b", "127.0.0.1:99999", "[::1]"],
  "X-Odd": ["odd"],
};

const oddHeader: Arbitrary<Header> = fc
  .constantFrom(...Object.keys(fitting))
  .chain((name) =>
    fc
      .oneof({ weight: 3, arbitrary: fc.constantFrom(...(fitting[name] as string[])) }, oddValue)
      .map((value): Header => [name, value]),
  );
const many: Arbitrary<Header[]> = fc
  .constantFrom(90, 1_900, 2_500)
  .map((n) => Array.from({ length: n }, (): Header => ["A", ""]));
const oddHeaders = fc.oneof(
  { weight: 10, arbitrary: fc.constant<Header[]>([]) },
  { weight: 12, arbitrary: fc.array(oddHeader, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: many },
);

type Framing = (body: Buffer) => { headers: Header[]; body: Buffer; isCutOff: boolean };

const withLength =
  (length: string, isCutOff: boolean): Framing =>
  (body) => ({ headers: [["Content-Length", length]], body, isCutOff });
const chunked = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);

/** How a body is announced: as it is, mostly; or not at all, by two ways at once, or by lies. */
const framings: Arbitrary<Framing> = fc.oneof(
  { weight: 24, arbitrary: fc.constant<Framing>((body) => withLength(String(body.length), false)(body)) },
  {
    weight: 4,
    arbitrary: fc.constant<Framing>((body) => ({
      headers: [["Transfer-Encoding", "chunked"]],
      body: Buffer.concat([body.length === 0 ? body : chunked(body), Buffer.from("0\r\n\r\n")]),
      isCutOff: false,
    })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Framing>(
      (body) => withLength(String(body.length + 5), true)(body),
      (body) => withLength(String(Math.max(0, body.length - 3)), true)(body),
      (body) => ({ headers: [["Transfer-Encoding", "chunked"]], body: chunked(body), isCutOff: true }),
      (body) => ({
        headers: [["Transfer-Encoding", "chunked"]],
        body: Buffer.from("zz\r\n"),
        isCutOff: body.length >= 0,
      }),
      (body) => ({ headers: [["Transfer-Encoding", "gzip"]], body, isCutOff: true }),
      (body) => ({
        headers: [
          ["Content-Length", String(body.length)],
          ["Transfer-Encoding", "chunked"],
        ],
        body: chunked(body),
        isCutOff: true,
      }),
      (body) => ({
        headers: [
          ["Content-Length", "1"],
          ["Content-Length", "2"],
        ],
        body,
        isCutOff: true,
      }),
      (body) => ({ headers: [], body, isCutOff: true }),
      ...["-1", "1e3", "0x10", "", "99999999999999999999", "1, 1", " 1"].map((length) => withLength(length, true)),
    ),
  },
);
