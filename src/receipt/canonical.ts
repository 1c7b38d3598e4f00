/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A value that has no canonical form; `path` leads to it (`evidence.list[2]`). */
export class CanonicalError extends Error {
  override readonly name = "CanonicalError";
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** Documents are shallow; a value nested deeper than this has no canonical form here, and cannot exhaust the stack. */
const maxDepth = 200;

/**
 * The canonical text of a JSON value by RFC 8785 (JCS): no white space; members sorted by the UTF-16 code units of their
 * names, at every level; numbers and strings as ECMAScript's JSON.stringify writes them. Its UTF-8 is what is hashed.
 * @throws CanonicalError for what JCS cannot express: a lone surrogate, a number that is not finite, no JSON at all.
 */
export function canonicalize(value: Json): string {
  return write(value, "", 0);
}

function write(value: Json, path: string, depth: number): string {
  if (depth > maxDepth) throw new CanonicalError(path, `a value is nested deeper than ${maxDepth} levels`);
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "string":
      return writeString(value, path);
    case "number":
      // JCS takes ECMAScript's Number::toString; -0 becomes 0 there, and so in JSON.stringify.
      if (!Number.isFinite(value)) throw new CanonicalError(path, "a number is not finite");
      return JSON.stringify(value);
    case "object": {
      if (value === null) return "null";
      if (Array.isArray(value))
        return `[${value.map((element, index) => write(element, `${path}[${index}]`, depth + 1)).join(",")}]`;
      const members = Object.keys(value)
        // The default order compares UTF-16 code units, as JCS asks.
        .sort()
        .map((name) => {
          const at = path === "" ? name : `${path}.${name}`;
          return `${writeString(name, at)}:${write(value[name] as Json, at, depth + 1)}`;
        });
      return `{${members.join(",")}}`;
    }
    default:
      throw new CanonicalError(path, `a value of type ${typeof value} is not JSON`);
  }
}

function writeString(text: string, path: string): string {
  if (!text.isWellFormed()) throw new CanonicalError(path, "a string holds a lone surrogate");
  return JSON.stringify(text);
}
