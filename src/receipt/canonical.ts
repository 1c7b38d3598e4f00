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

/** The names and indices from the outermost value to the one being written. */
type Path = (string | number)[];

/**
 * The canonical text of a JSON value by RFC 8785 (JCS): no white space; members sorted by the UTF-16 code units of their
 * names, at every level; numbers and strings as ECMAScript's JSON.stringify writes them. Its UTF-8 is what is hashed.
 * @throws CanonicalError for what JCS cannot express: a lone surrogate, a number that is not finite, no JSON at all; and
 * for a value that is nested deeper than 200 levels.
 */
export function canonicalize(value: Json): string {
  return write(value, []);
}

/**
 * Whether `text` is the canonical text of `value`, which JSON.parse made of it.
 * @throws CanonicalError as `canonicalize` does
 */
export function isCanonical(text: string, value: Json): boolean {
  return isPlainlyCanonical(text, value) || canonicalize(value) === text;
}

/**
 * Finds most canonical texts to be so without writing them anew, and never another. Where a text holds no backslash, its
 * strings are what they say, and so canonical. White space and members that come twice make it longer than the canonical
 * text; so do other spellings of the numbers that `plainLength` knows. So a text of the same length, whose names are in
 * order, is the canonical one. Where this is false, `canonicalize` decides.
 */
function isPlainlyCanonical(text: string, value: Json): boolean {
  return !text.includes("\\") && text.isWellFormed() && plainLength(value, plainDepth) === text.length;
}

/** Far below `maxDepth`. */
const plainDepth = 16;

/** The length of the canonical text of a value that needs no escapes; NaN where that is left to `canonicalize`. */
function plainLength(value: Json, levels: number): number {
  switch (typeof value) {
    case "string":
      return value.length + 2;
    case "number":
      return plainNumberLength(value);
    case "boolean":
      return value ? 4 : 5;
    default:
      if (value === null) return 4;
      if (levels === 0) return Number.NaN;
      return Array.isArray(value) ? plainArrayLength(value, levels - 1) : plainObjectLength(value, levels - 1);
  }
}

/**
 * Of an integer, only a power of ten in it could make another spelling as short: 1e2 is as long as 100, 1e3 shorter than
 * 1000. Fractions and what is no exact integer have more such spellings.
 */
function plainNumberLength(value: number): number {
  if (value === 0) return 1;
  if (!Number.isSafeInteger(value) || value % 100 === 0) return Number.NaN;
  let length = value < 0 ? 2 : 1;
  for (let power = 10; power <= Math.abs(value); power *= 10) length += 1;
  return length;
}

function plainArrayLength(elements: Json[], levels: number): number {
  let length = 1 + Math.max(elements.length, 1);
  for (const element of elements) length += plainLength(element, levels);
  return length;
}

function plainObjectLength(members: { [name: string]: Json }, levels: number): number {
  let length = 1;
  let previous: string | undefined;
  // Not Object.keys, which would make an array. All names are the object's own, "__proto__" too: JSON.parse sees to that.
  for (const name in members) {
    // In their order in the text, but for names that are integers: those come first, in the order of numbers.
    if ((previous !== undefined && name <= previous) || isDigit(name.charCodeAt(0))) return Number.NaN;
    previous = name;
    length += name.length + 4 + plainLength(members[name] as Json, levels);
  }
  return Math.max(length, 2);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
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
    // An element left out of a sparse array is undefined here, and so refused.
    text += `${index === 0 ? "" : ","}${write(elements[index] as Json, path)}`;
    path.pop();
  }
  return `[${text}]`;
}

function writeObject(members: { [name: string]: Json }, path: Path): string {
  let text = "";
  for (const name of sortedNames(members)) {
    path.push(name);
    text += `${text === "" ? "" : ","}${writeString(name, path)}:${write(members[name] as Json, path)}`;
    path.pop();
  }
  return `{${text}}`;
}

/** Most objects come from canonical text and are in order already, and looking is cheaper than sorting. */
function sortedNames(members: { [name: string]: Json }): string[] {
  const names = Object.keys(members);
  for (let index = 1; index < names.length; index++) {
    // `<` and the default order of sort compare UTF-16 code units, as JCS asks.
    if ((names[index] as string) < (names[index - 1] as string)) return names.sort();
  }
  return names;
}

/** All but the characters that must be escaped, and surrogates, which may stand alone. */
const plain = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

function writeString(text: string, path: Path): string {
  if (plain.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw noForm(path, "a string holds a lone surrogate");
  return JSON.stringify(text);
}

function noForm(path: Path, message: string): CanonicalError {
  let at = "";
  for (const step of path) at += typeof step === "number" ? `[${step}]` : at === "" ? step : `.${step}`;
  return new CanonicalError(at, message);
}
