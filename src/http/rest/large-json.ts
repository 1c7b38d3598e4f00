import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";

/** From how many characters in its lists on a reply is encoded in parts. */
const largeLength = 64 * 1024;

/**
 * Makes the check whether a message is large: whether the texts in its lists of messages, taken together, are. It looks at
 * their lengths only, which costs next to nothing beside encoding them.
 */
export function createSizeCheck(desc: DescMessage): (message: Message) => boolean {
  const lists = desc.fields.flatMap((field) => (field.fieldKind === "list" ? [textsOf(field)] : []));
  return (message) => {
    let length = 0;
    for (const { list, texts } of lists) {
      for (const item of (message as unknown as Record<string, Record<string, string | undefined>[]>)[list] ?? []) {
        for (const text of texts) length += item[text]?.length ?? 0;
      }
    }
    return length > largeLength;
  };
}

function textsOf({ localName, message }: DescField): { list: string; texts: string[] } {
  const texts = message?.fields.filter(
    ({ fieldKind, scalar }) => fieldKind === "scalar" && scalar === ScalarType.STRING,
  );
  return { list: localName, texts: texts?.map((field) => field.localName) ?? [] };
}

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
