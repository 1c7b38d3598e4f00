import type { Json } from "./canonical.ts";

/**
 * Parses JSON like JSON.parse, without the fault that V8 has since 12.8 (https://github.com/nodejs/node/issues/63785,
 * https://crbug.com/521080746). That JSON.parse reads the name `x"` in `{"a":1,"x\"":1}` as `x\`, if it has read an
 * object with the names `a` and `x\` before: it compares earlier names with the written form of a name. So it misreads
 * only names that are written with a backslash, and the misread name contains that backslash.
 * @throws SyntaxError as JSON.parse does
 */
export function parseJson(text: string): Json {
  const value: Json = JSON.parse(text);
  return hasEscapedName(text) ? parseAnew(text) : value;
}

/** Whether the name of a member has a backslash. `text` is valid JSON, as in all functions below. */
function hasEscapedName(text: string): boolean {
  let backslash = text.indexOf("\\");
  if (backslash === -1) return false;
  for (let start = text.indexOf('"'), end = 0; start !== -1; start = text.indexOf('"', end)) {
    end = endOfString(text, start);
    if (backslash > end) continue;
    if (isName(text, end)) return true;
    backslash = text.indexOf("\\", end);
    if (backslash === -1) return false;
  }
  return false;
}

/** Parses the text with ascending numbers as names, which keep their order. Then it puts the real names in their place. */
function parseAnew(text: string): Json {
  const names: string[] = [];
  let numbered = "";
  let copied = 0;
  for (let start = text.indexOf('"'), end = 0; start !== -1; start = text.indexOf('"', end)) {
    end = endOfString(text, start);
    if (!isName(text, end)) continue;
    numbered += `${text.slice(copied, start)}"${names.length}"`;
    copied = end;
    // A string that is not a name is parsed correctly.
    names.push(JSON.parse(text.slice(start, end)));
  }
  return named(JSON.parse(numbered + text.slice(copied)), names);
}

/** Replaces the numbers by `names`. It keeps its own stack on the heap, so deep nesting cannot overflow the call stack. */
function named(value: Json, names: readonly string[]): Json {
  const root = [value];
  const open: (Json[] | { [name: string]: Json })[] = [root];
  const enter = (value: Json): Json => {
    if (typeof value !== "object" || value === null) return value;
    const container = Array.isArray(value) ? value : withNames(value, names);
    open.push(container);
    return container;
  };
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    if (Array.isArray(container)) {
      for (let index = 0; index < container.length; index++) container[index] = enter(container[index] as Json);
    } else {
      for (const name of Object.keys(container)) container[name] = enter(container[name] as Json);
    }
  }
  return root[0] as Json;
}

/**
 * Of several members with the same name the last value wins, at the position of the first. "__proto__" is an ordinary
 * name.
 */
function withNames(members: { [number: string]: Json }, names: readonly string[]): { [name: string]: Json } {
  return Object.fromEntries(Object.entries(members).map(([number, value]) => [names[Number(number)] as string, value]));
}

/** The index after the string whose first quote is at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

/** Whether an odd number of backslashes stands before the index. */
function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text.charCodeAt(first - 1) === 0x5c) first--;
  return (index - first) % 2 === 1;
}

/** Whether a colon follows the string that ends at `end`. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (isSpace(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === 0x3a;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}
