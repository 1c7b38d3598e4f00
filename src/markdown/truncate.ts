/** Cuts a text to `length` code units: between words if it has any, and never within a character. */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const space = text.lastIndexOf(" ", length);
  const end = space > length / 2 ? space : length;
  return `${text
    .slice(0, end)
    .toWellFormed()
    .replace(/\ufffd$/, "")}…`;
}
