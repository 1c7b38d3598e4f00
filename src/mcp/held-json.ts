import { randomUUID } from "node:crypto";
import type { YieldQueue } from "../timing/yield-queue.ts";
import { largeLength } from "../transcoding/index.ts";

/**
 * The JSON of a large result, which does not pass through the SDK: it would hold the event loop while it is copied, checked
 * and written several times. The SDK gets a token in its place.
 */
export class HeldJson {
  readonly token: string = randomUUID();
  readonly #fragments: readonly string[];
  readonly #writing: YieldQueue;

  /** @param writing the queue of responses: they are not written together, and between two every other call goes on */
  constructor(fragments: readonly string[], writing: YieldQueue) {
    this.#fragments = fragments;
    this.#writing = writing;
  }

  /** What stands for the JSON as a value. */
  get value(): Record<string, unknown> {
    return { [this.token]: true };
  }

  /** Writes a response of the SDK with the JSON in place of the token: as a string in strings, else as a value. */
  async writeInto(response: string): Promise<Buffer> {
    const value = `{${JSON.stringify(this.token)}:true}`;
    const pieces: string[] = [];
    for (const [index, around] of response.split(value).entries()) {
      if (index > 0) pieces.push(...this.#fragments);
      for (const [inner, text] of around.split(this.token).entries()) {
        if (inner > 0) {
          await this.#writing.next();
          for (const fragment of this.#fragments) pieces.push(JSON.stringify(fragment).slice(1, -1));
        }
        pieces.push(text);
      }
    }
    await this.#writing.next();
    const bytes = Buffer.allocUnsafe(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0));
    let end = 0;
    for (const piece of pieces) end += bytes.write(piece, end);
    return bytes;
  }
}

/** The JSON of an object in fragments: one for each element of its lists, because V8 frees short strings sooner. */
export function toFragments(members: Readonly<Record<string, unknown>>): string[] {
  const fragments: string[] = [];
  for (const [name, value] of Object.entries(members)) {
    fragments.push(`${fragments.length === 0 ? "{" : ","}${JSON.stringify(name)}:`);
    if (Array.isArray(value)) {
      for (const [index, element] of value.entries())
        fragments.push((index === 0 ? "[" : ",") + JSON.stringify(element));
      fragments.push(value.length === 0 ? "[]" : "]");
    } else fragments.push(JSON.stringify(value));
  }
  fragments.push("}");
  return fragments;
}

/** Whether JSON is so large that the SDK should not see it. */
export function isLarge(fragments: readonly string[]): boolean {
  let length = 0;
  for (const fragment of fragments) length += fragment.length;
  return length > largeLength;
}
