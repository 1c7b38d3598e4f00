/** Replies with more text in their lists are encoded in parts, in UTF-16 code units. */
export const largeLength = 64 * 1024;

/**
 * Encodes an object to the same bytes as `JSON.stringify`, but stringifies the elements of its lists one by one. V8 frees a
 * string of megabytes only when it collects the old heap, which many large replies would fill. It frees short strings soon.
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
