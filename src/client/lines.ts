import { StoaError } from "./error.ts";

/** The longest line that is read, in bytes. The line of a receipt is much shorter: its evidence is limited to 64 KiB. */
export const maxLineBytes = 4 * 1024 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Splits a stream of bytes into lines, without their ends. It buffers at most one line, and reads on only when the
 * consumer has taken it.
 * @throws StoaError `unusable` for a line that is too long or not UTF-8; `unreachable` if the last line has no end
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = maxLineBytes,
): AsyncGenerator<string, void> {
  const partial = new LineBuffer(maxBytes);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const rest = chunk.subarray(start, end);
      yield decode(partial.length === 0 && rest.length <= maxBytes ? rest : partial.complete(rest));
      start = end + 1;
    }
    partial.add(chunk.subarray(start));
  }
  if (partial.length > 0) throw new StoaError("unreachable", "the stream was cut off within a line");
}

/** The beginning of a line, in one buffer that grows: a line may arrive in very many small chunks. */
class LineBuffer {
  length = 0;
  #bytes = new Uint8Array(64 * 1024);
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Uint8Array): void {
    const length = this.length + bytes.length;
    if (length > this.#maxBytes) {
      throw new StoaError("unusable", `a line of the stream is longer than ${this.#maxBytes} bytes`);
    }
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, Math.min(2 * this.#bytes.length, this.#maxBytes)));
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
