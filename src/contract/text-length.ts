import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { isHttpBody } from "./responses.ts";

/** A message as the measuring functions see it. */
type Measured = Record<string, unknown>;
type Measure = (message: Measured) => number;

/**
 * Makes a function that measures the text in a message's lists of messages, including the lists of nested messages. The
 * function reads only lengths, so it costs almost nothing compared to encoding the message.
 * @returns a function that gives a length in UTF-16 code units; undefined if the message has no list
 */
export function createTextLength(desc: DescMessage): ((message: Message) => number) | undefined {
  return measureLists(desc, []) as ((message: Message) => number) | undefined;
}

function measureLists(desc: DescMessage, within: readonly DescMessage[]): Measure | undefined {
  // The contract does not bound a recursive message, so what it holds within itself is not measured. A body of bytes has a
  // list that nobody fills.
  if (within.includes(desc) || isHttpBody(desc)) return undefined;
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
