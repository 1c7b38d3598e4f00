// Headers: right ones, ones of odd sizes and bytes, and very many.
import fc, { type Arbitrary } from "fast-check";

/** A name and a value, as Latin-1. */
export type Header = [string, string];

const oddValue = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 300 }),
  fc.constantFrom("", " ", ",", ";", "*", "null", "\u0000", "\x7f", "\t", "a,b", "x".repeat(8_000), "x".repeat(20_000)),
  fc.constantFrom("1", "-1", "0", "999999999999999999999", "identity", "chunked", "q=2", "\xff\xfe", "😀".slice(0, 0)),
);

const fitting: { [name: string]: string[] } = {
  // Keys have 16 to 128 characters without spaces.
  "Idempotency-Key": ["x".repeat(15), "0123456789abcdef", "x".repeat(128), "x".repeat(129), "a key of words"],
  "Content-Type": ["application/json", "text/plain", "application/json; charset=utf-16", "application/grpc", "/"],
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
export const oddHeaders = fc.oneof(
  { weight: 10, arbitrary: fc.constant<Header[]>([]) },
  { weight: 12, arbitrary: fc.array(oddHeader, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: many },
);

export function authorizations(keys: string[]): Arbitrary<Header[]> {
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
