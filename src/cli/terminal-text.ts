// Foreign text on a terminal. Agents write it, but they must not decide what the terminal shows besides it.

/** Control and format characters, such as escape sequences and changes of direction, and what Unicode does not assign. */
const unsafe = /[\p{C}\p{Zl}\p{Zp}]/gu;
/** Characters that take two columns of a terminal. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Makes text safe to print in one line. Each unsafe character becomes `�`. */
export function terminalText(text: string): string {
  // Many marks on one letter would cover the lines around it.
  return text
    .replace(/\s/gu, " ")
    .replace(unsafe, "\ufffd")
    .replace(/(\p{M}{2})\p{M}+/gu, "$1");
}

/** A value as JSON in one line, with an escape sequence of JSON for each character that is unsafe to print. */
export function terminalJson(value: object): string {
  return escapeUnsafe(JSON.stringify(value));
}

/** Lines of text or JSON, safe to print. Each unsafe character becomes an escape sequence of JSON; lines stay lines. */
export function escapeUnsafe(text: string): string {
  return text.replace(unsafe, (character) => (character === "\n" ? character : escapeUnits(character)));
}

function escapeUnits(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** The lines of a text that are not empty, safe to print; at most `count`, each at most `columns` wide. */
export function firstLines(text: string, count: number, columns: number): string[] {
  // This may split all of the text, because a body has 10,000 characters at most.
  const lines = text.split(/\r\n|[\n\r\u0085\u2028\u2029]/).map((line) => shorten(line.trim(), columns));
  return lines.filter((line) => line !== "").slice(0, count);
}

/** Makes text safe and cuts it to a number of columns. */
export function shorten(text: string, columns: number): string {
  const safe = terminalText(text);
  let used = 0;
  let kept = "";
  for (const character of safe) {
    used += wide.test(character) ? 2 : 1;
    if (used > columns) return `${cut(kept, columns - 1)}…`;
    kept += character;
  }
  return safe;
}

/** Like `shorten`, filled up with spaces. */
export function pad(text: string, columns: number): string {
  const fitted = shorten(text, columns);
  return fitted + " ".repeat(columns - widthOf(fitted));
}

/** How many columns of a terminal a safe text takes at most. */
function widthOf(text: string): number {
  return [...text].reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}

function cut(text: string, columns: number): string {
  const characters = [...text];
  while (widthOf(characters.join("")) > columns) characters.pop();
  return characters.join("");
}
