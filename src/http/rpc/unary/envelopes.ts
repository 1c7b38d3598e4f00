// The frames of gRPC and gRPC-Web: a byte of flags, four bytes of length, and the message.
import { Code, ConnectError } from "@connectrpc/connect";

const prefixBytes = 5;
const noBytes = new Uint8Array(0);

/** @param size the size of the message, if it is known */
export function messageTooLarge(maxBytes: number, size?: number): ConnectError {
  const shown = size === undefined ? "" : ` ${size}`;
  return new ConnectError(
    `message size${shown} is larger than configured readMaxBytes ${maxBytes}`,
    Code.ResourceExhausted,
  );
}

/** The refusal of a message that is compressed, though its request names no compression. */
export function notNamed(): ConnectError {
  return new ConnectError("received compressed envelope, but do not know how to decompress", Code.Internal);
}

export interface Envelope {
  flags: number;
  data: Uint8Array;
}

/** Whether these first bytes of a body hold its first envelope, or the prefix of one that is too large. */
export function decidesFirst(bytes: Buffer, maxBytes: number): boolean {
  if (bytes.length < prefixBytes) return false;
  const length = bytes.readUInt32BE(1);
  return length > maxBytes || bytes.length >= prefixBytes + length;
}

/** Splits a body into envelopes, however it is divided into chunks. */
export class EnvelopeSplitter {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  /** Where the first chunk goes on. */
  #start = 0;
  /** The bytes in `#chunks` from there on. */
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
    const bytes = this.#join();
    const flags = bytes.readUInt8(this.#start);
    const length = bytes.readUInt32BE(this.#start + 1);
    if (length > this.#maxBytes) throw messageTooLarge(this.#maxBytes, length);
    this.#skip(prefixBytes);
    return { flags, length };
  }

  /** Takes bytes that have arrived. */
  #read(length: number): Uint8Array {
    if (length === 0) return noBytes;
    const bytes = this.#join().subarray(this.#start, this.#start + length);
    this.#skip(length);
    return bytes;
  }

  #join(): Buffer {
    if (this.#chunks.length > 1) {
      this.#chunks = [Buffer.concat(this.#chunks).subarray(this.#start)];
      this.#start = 0;
    }
    return this.#chunks[0] as Buffer;
  }

  #skip(length: number): void {
    this.#start += length;
    this.#held -= length;
    if (this.#held > 0) return;
    this.#chunks = [];
    this.#start = 0;
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
