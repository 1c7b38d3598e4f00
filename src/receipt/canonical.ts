/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A value has no canonical form. `path` is where it is (`evidence.list[2]`). */
export class CanonicalError extends Error {
  override readonly name = "CanonicalError";
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** A value that is nested deeper than this has no canonical form here. The limit protects the stack. */
const maxDepth = 200;

/** The names and indices from the outermost value to the one being written. */
type Path = (string | number)[];

/**
 * The canonical text of a JSON value by RFC 8785 (JCS): no white space; members sorted by the UTF-16 code units of
 * their names, at every level; numbers and strings as ECMAScript's JSON.stringify writes them. Receipts hash its UTF-8.
 * @throws CanonicalError for a lone surrogate, a number that is not finite, a value that is not JSON, and a value that
 * is nested deeper than 200 levels
 */
export function canonicalize(value: Json): string {
  if (isInOrder(value, 0)) {
    // JSON.stringify writes the same form, but does not sort, and writes a lone surrogate as an escape such as \ud800.
    const text = JSON.stringify(value);
    if (!text.includes("\\ud")) return text;
  }
  return write(value, []);
}

/** Whether a value is JSON with its members in order. Most values come from canonical text, so this check pays off. */
function isInOrder(value: Json, depth: number): boolean {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth === maxDepth) return false;
  if (Array.isArray(value)) {
    for (const element of value) if (!isInOrder(element, depth + 1)) return false;
    return true;
  }
  let before = "";
  for (const name in value) {
    // `<` compares UTF-16 code units, as JCS does.
    if (name < before || !isInOrder(value[name] as Json, depth + 1)) return false;
    before = name;
  }
  return true;
}

function write(value: Json, path: Path): string {
  if (path.length > maxDepth) throw noForm(path, `a value is nested deeper than ${maxDepth} levels`);
  switch (typeof value) {
    case "boolean":
      return value ? "true" : "false";
    case "string":
      return writeString(value, path);
    case "number":
      // JCS takes ECMAScript's Number::toString, which writes -0 as 0.
      if (!Number.isFinite(value)) throw noForm(path, "a number is not finite");
      return String(value);
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? writeArray(value, path) : writeObject(value, path);
    default:
      throw noForm(path, `a value of type ${typeof value} is not JSON`);
  }
}

function writeArray(elements: Json[], path: Path): string {
  let text = "";
  for (let index = 0; index < elements.length; index++) {
    path.push(index);
    // A missing element of a sparse array is undefined, and so is refused.
    text += `${index === 0 ? "" : ","}${write(elements[index] as Json, path)}`;
    path.pop();
  }
  return `[${text}]`;
}

function writeObject(members: { [name: string]: Json }, path: Path): string {
  let text = "";
  // The default order of sort is that of UTF-16 code units.
  for (const name of Object.keys(members).sort()) {
    path.push(name);
    text += `${text === "" ? "" : ","}${writeString(name, path)}:${write(members[name] as Json, path)}`;
    path.pop();
  }
  return `{${text}}`;
}

function writeString(text: string, path: Path): string {
  if (!text.isWellFormed()) throw noForm(path, "a string holds a lone surrogate");
  return JSON.stringify(text);
}

function noForm(path: Path, message: string): CanonicalError {
  let at = "";
  for (const step of path) at += typeof step === "number" ? `[${step}]` : at === "" ? step : `.${step}`;
  return new CanonicalError(at, message);
}
