import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";

/**
 * Makes the function that measures how much text the lists of messages in a message hold, in UTF-16 code units. It looks at
 * lengths only, which costs next to nothing beside encoding the message.
 */
export function createTextLength(desc: DescMessage): (message: Message) => number {
  const lists = desc.fields.flatMap((field) => (field.fieldKind === "list" ? [textsOf(field)] : []));
  return (message) => {
    let length = 0;
    for (const { list, texts } of lists) {
      for (const item of (message as unknown as Record<string, Record<string, string | undefined>[]>)[list] ?? []) {
        for (const text of texts) length += item[text]?.length ?? 0;
      }
    }
    return length;
  };
}

function textsOf({ localName, message }: DescField): { list: string; texts: string[] } {
  const texts = message?.fields.filter(
    ({ fieldKind, scalar }) => fieldKind === "scalar" && scalar === ScalarType.STRING,
  );
  return { list: localName, texts: texts?.map((field) => field.localName) ?? [] };
}
