import type { DescField, DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { cut_to_body_chars } from "../../gen/stoa/v1/options_pb.js";
import { getOption } from "./options.ts";

/** A message as the cutting functions see it. */
type Holder = Record<string, unknown>;
type Cut = (message: Holder, chars: number) => void;

/**
 * Makes a function that cuts the bodies in a message, also those in its lists, to a number of characters. What is cut has
 * `truncated` and `body_length` afterwards.
 * @returns a function that changes the message; undefined if the message can hold no body
 */
export function createBodyCut(desc: DescMessage): ((message: Message, chars: number) => void) | undefined {
  return cutOf(desc, []) as ((message: Message, chars: number) => void) | undefined;
}

/**
 * How an RPC lets callers cut the bodies of its responses.
 * @returns the local name of the field that says to how many characters, and what cuts; undefined for other RPCs
 * @throws Error, at start, for an RPC that takes `body_chars` and returns no bodies
 */
export function bodyCutOf({ name, input, output }: DescMethod) {
  const field = input.fields.find((each) => each.name === "body_chars");
  if (field === undefined) return undefined;
  const cut = createBodyCut(output);
  if (cut === undefined) throw new Error(`${name} takes body_chars, and returns no bodies.`);
  return { field: field.localName, cut };
}

function cutOf(desc: DescMessage, within: readonly DescMessage[]): Cut | undefined {
  if (within.includes(desc)) return undefined;
  const cuts = desc.fields.map((field) => cutField(field, [...within, desc])).filter((cut) => cut !== undefined);
  if (cuts.length < 2) return cuts[0];
  return (message, chars) => {
    for (const cut of cuts) cut(message, chars);
  };
}

function cutField(field: DescField, within: readonly DescMessage[]): Cut | undefined {
  const { localName, fieldKind } = field;
  if (getOption(field, cut_to_body_chars)) return (message, chars) => cutBody(message, localName, chars);
  if (field.message === undefined || fieldKind === "map") return undefined;
  const cut = cutOf(field.message, within);
  if (cut === undefined) return undefined;
  if (fieldKind === "list") {
    return (message, chars) => {
      for (const each of message[localName] as Holder[]) cut(each, chars);
    };
  }
  return (message, chars) => {
    const value = message[localName] as Holder | undefined;
    if (value !== undefined) cut(value, chars);
  };
}

function cutBody(message: Holder, localName: string, chars: number): void {
  const body = message[localName] as string;
  const end = endOf(body, chars);
  if (end === body.length) return;
  message[localName] = body.slice(0, wordEnd(body, end));
  // A body that is cut once more keeps its length.
  message.bodyLength ??= BigInt(characters(body));
  message.truncated = true;
}

/** Where the first `chars` characters end, in code units. Characters are Unicode code points, as in the field rules. */
function endOf(text: string, chars: number): number {
  if (text.length <= chars) return text.length;
  let end = 0;
  for (let count = 0; count < chars && end < text.length; count++) end += unitsAt(text, end);
  return end;
}

/** The end of the last whole word before `end`; `end` itself where words are very long, or not separated by spaces. */
function wordEnd(text: string, end: number): number {
  let at = end;
  while (at > end / 2 && !isSpace(text, at)) at -= 1;
  if (at <= end / 2) return end;
  while (at > 0 && isSpace(text, at - 1)) at -= 1;
  return at;
}

function isSpace(text: string, at: number): boolean {
  return /\s/.test(text.charAt(at));
}

function characters(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += unitsAt(text, at)) count += 1;
  return count;
}

/** How many code units the character at a place has. */
function unitsAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
