import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";

/** A message as far as its text is measured. */
type Measured = Record<string, unknown>;
type Measure = (message: Measured) => number;

/**
 * Makes the function that measures how much text the lists of messages in a message hold, in UTF-16 code units, be they its
 * own or those of a message in it. It looks at lengths only, which costs next to nothing beside encoding the message.
 * @returns undefined where the message holds no list
 */
export function createTextLength(desc: DescMessage): ((message: Message) => number) | undefined {
  const measure = measureLists(desc, []);
  return measure && ((message) => measure(message as unknown as Measured));
}

function measureLists(desc: DescMessage, within: readonly DescMessage[]): Measure | undefined {
  // A message that may hold itself is not bounded by the contract; what it holds within itself is not measured.
  if (within.includes(desc)) return undefined;
  const measures = desc.fields
    .map((field) => measureField(field, [...within, desc]))
    .filter((measure) => measure !== undefined);
  if (measures.length < 2) return measures[0];
  return (message) => measures.reduce((sum, measure) => sum + measure(message), 0);
}

function measureField(
  { fieldKind, localName, ...field }: DescField,
  within: readonly DescMessage[],
): Measure | undefined {
  if (fieldKind === "list") return measureList(localName, field.message);
  if (fieldKind !== "message") return undefined;
  const measure = measureLists(field.message as DescMessage, within);
  return (
    measure &&
    ((message) => {
      const value = message[localName] as Measured | undefined;
      return value === undefined ? 0 : measure(value);
    })
  );
}

function measureList(list: string, item: DescMessage | undefined): Measure {
  const texts = (item?.fields ?? [])
    .filter(({ fieldKind, scalar }) => fieldKind === "scalar" && scalar === ScalarType.STRING)
    .map(({ localName }) => localName);
  return (message) => {
    let length = 0;
    for (const each of message[list] as Record<string, string | undefined>[]) {
      for (const text of texts) length += each[text]?.length ?? 0;
    }
    return length;
  };
}
