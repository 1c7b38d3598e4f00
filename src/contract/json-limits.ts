/** The maximum depth of arrays and objects in JSON, as in Protobuf's own runtimes. Parsers and readers are recursive. */
export const maxJsonDepth = 100;
/** The maximum number of values in a JSON text, at all depths together. */
export const maxJsonValues = 10_000;

const [quote, comma, backslash, array, arrayEnd, object, objectEnd] = Buffer.from('",\\[]{}');

/**
 * What of a JSON text exceeds a limit; undefined if nothing does. It is for parsers without limits, which take 60 ms for
 * 256 KiB of brackets. An empty array or object counts as two values. Whatever is not JSON is left to the parser.
 */
export function jsonExcess(bytes: Uint8Array): string | undefined {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) {
      for (at++; at < bytes.length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
    } else if (byte === comma) values++;
    else if (byte === arrayEnd || byte === objectEnd) depth--;
    else if (byte === array || byte === object) {
      depth++;
      values++;
    }
    if (depth > maxJsonDepth) return `it is nested deeper than ${maxJsonDepth} levels`;
    if (values > maxJsonValues) return `it holds more than ${maxJsonValues} values`;
  }
  return undefined;
}
