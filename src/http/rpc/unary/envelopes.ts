// The frames of gRPC and gRPC-Web: a byte of flags, four bytes of length, and the message.
import { Code, ConnectError } from "@connectrpc/connect";
import { tooLarge } from "./body.ts";

const prefixBytes = 5;

export interface Envelope {
  flags: number;
  data: Uint8Array;
}

/** Splits a body into envelopes, however it is divided into chunks. */
export class EnvelopeSplitter {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  /** The bytes in `#chunks`. */
  #held = 0;
  /** The prefix of the envelope that arrives. */
  #prefix: { flags: number; length: number } | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the envelopes that this chunk completes. @throws ConnectError `resource_exhausted` */
  push(chunk: Buffer): Envelope[] {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    const envelopes: Envelope[] = [];
    while (true) {
      this.#prefix ??= this.#readPrefix();
      if (this.#prefix === undefined || this.#held < this.#prefix.length) return envelopes;
      const { flags, length } = this.#prefix;
      this.#prefix = undefined;
      envelopes.push({ flags, data: this.#read(length) });
    }
  }

  /**
   * To be called when the body is complete. A prefix without any byte of its message is ignored, as by Connect.
   * @throws ConnectError `invalid_argument` if bytes are left that make no envelope
   */
  end(): void {
    if (this.#held > 0) throw new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);
  }

  #readPrefix(): { flags: number; length: number } | undefined {
    if (this.#held < prefixBytes) return undefined;
    const bytes = this.#read(prefixBytes);
    const length = bytes.readUInt32BE(1);
    if (length > this.#maxBytes) throw tooLarge(this.#maxBytes, ` ${length}`);
    return { flags: bytes.readUInt8(0), length };
  }

  /** Takes bytes that have arrived. */
  #read(length: number): Buffer {
    const all = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#held);
    this.#held -= length;
    this.#chunks = this.#held === 0 ? [] : [all.subarray(length)];
    return all.subarray(0, length);
  }
}

/** Puts a message into an envelope. */
export function enclose(flags: number, data: Uint8Array): Buffer {
  const envelope = Buffer.allocUnsafe(prefixBytes + data.length);
  envelope.writeUInt8(flags, 0);
  envelope.writeUInt32BE(data.length, 1);
  envelope.set(data, prefixBytes);
  return envelope;
}
