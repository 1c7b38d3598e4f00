import { setImmediate as nextTurn } from "node:timers/promises";

/** From how many characters in its lists on a reply is encoded in parts. */
export const largeLength = 64 * 1024;

/** For how long a reply is encoded before the event loop has a turn, in milliseconds. */
const turnMs = 5;

/**
 * The bytes that `JSON.stringify` gives for an object, made element by element of its lists, so that the event loop is not
 * blocked for long. V8 keeps a text of megabytes until it collects the old heap, and many large replies would fill that;
 * short ones go at once.
 */
export async function encodeInParts(members: Readonly<Record<string, unknown>>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let turnEndsAt = performance.now() + turnMs;
  const add = async (text: string) => {
    parts.push(Buffer.from(text));
    if (performance.now() < turnEndsAt) return;
    await nextTurn();
    turnEndsAt = performance.now() + turnMs;
  };
  for (const [name, value] of Object.entries(members)) {
    await add(`${parts.length === 0 ? "{" : ","}${JSON.stringify(name)}:`);
    if (Array.isArray(value)) {
      for (const [index, element] of value.entries()) await add((index === 0 ? "[" : ",") + JSON.stringify(element));
      await add(value.length === 0 ? "[]" : "]");
    } else await add(JSON.stringify(value));
  }
  return Buffer.concat([...parts, Buffer.from("}")]);
}
