/** From how many characters in its lists on a reply is encoded in parts. */
export const largeLength = 64 * 1024;

/**
 * The bytes that `JSON.stringify` gives for an object, made of one text for each element of its lists. V8 keeps a text of
 * megabytes until it collects the old heap, and many large replies would fill that; short ones go at once.
 */
export function encodeInParts(members: Readonly<Record<string, unknown>>): Buffer {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(members)) {
    parts.push(`${parts.length === 0 ? "{" : ","}${JSON.stringify(name)}:`);
    if (Array.isArray(value)) {
      for (const [index, element] of value.entries()) parts.push((index === 0 ? "[" : ",") + JSON.stringify(element));
      parts.push(value.length === 0 ? "[]" : "]");
    } else parts.push(JSON.stringify(value));
  }
  parts.push("}");
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0));
  let end = 0;
  for (const part of parts) end += bytes.write(part, end);
  return bytes;
}
