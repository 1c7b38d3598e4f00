import { StoaError } from "./error.ts";

/** The longest line that is read, in bytes. A receipt's is well below: its evidence is limited to 64 KiB. */
export const longestLine = 4 * 1024 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The lines of a stream of bytes, without their ends. It holds one line at most, and reads on only when that is taken.
 * @throws StoaError `unusable` for a line that is too long or no UTF-8, `unreachable` when the last one has no end
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  longest = longestLine,
): AsyncGenerator<string, void> {
  const begun = new LineBuffer(longest);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const rest = chunk.subarray(start, end);
      yield decode(begun.length === 0 && rest.length <= longest ? rest : begun.complete(rest));
      start = end + 1;
    }
    begun.add(chunk.subarray(start));
  }
  if (begun.length > 0) throw new StoaError("unreachable", "the stream was cut off within a line");
}

/** The beginning of a line. One buffer that grows, since a line may come in very many small chunks. */
class LineBuffer {
  length = 0;
  #bytes = new Uint8Array(64 * 1024);
  readonly #longest: number;

  constructor(longest: number) {
    this.#longest = longest;
  }

  add(bytes: Uint8Array): void {
    const length = this.length + bytes.length;
    if (length > this.#longest) {
      throw new StoaError("unusable", `a line of the stream is longer than ${this.#longest} bytes`);
    }
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, Math.min(2 * this.#bytes.length, this.#longest)));
      larger.set(this.#bytes.subarray(0, this.length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.length);
    this.length = length;
  }

  /** The whole line, valid until the next call. */
  complete(end: Uint8Array): Uint8Array {
    this.add(end);
    const line = this.#bytes.subarray(0, this.length);
    this.length = 0;
    return line;
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new StoaError("unusable", "a line of the stream is not UTF-8");
  }
}
