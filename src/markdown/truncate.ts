/**
 * Cuts a text to `length` code units, and adds an ellipsis to what is left. The cut is between words, unless less than half
 * would be left, and never within a character. A text that is short enough stays as it is.
 */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const space = text.lastIndexOf(" ", length);
  const end = space > length / 2 ? space : length;
  return `${text
    .slice(0, end)
    .toWellFormed()
    .replace(/\ufffd$/, "")}…`;
}
