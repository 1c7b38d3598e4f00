// The frames of gRPC and gRPC-Web: a byte of flags, four bytes of length, and the message.
import { Code, ConnectError } from "@connectrpc/connect";

const prefixBytes = 5;

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
  /** What has arrived of the next envelope. It is joined once: there may be very many chunks. */
  #chunks: Buffer[] = [];
  #length = 0;
  /** How long the next envelope is, as far as that is known: at first, its prefix. */
  #due = prefixBytes;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the envelopes that this chunk completes. @throws ConnectError `resource_exhausted` */
  push(chunk: Buffer): Envelope[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const envelopes: Envelope[] = [];
    while (this.#length >= this.#due) {
      const [bytes = chunk] = this.#chunks.length === 1 ? this.#chunks : [Buffer.concat(this.#chunks)];
      const size = bytes.readUInt32BE(1);
      if (size > this.#maxBytes) throw messageTooLarge(this.#maxBytes, size);
      const end = prefixBytes + size;
      const isWhole = bytes.length >= end;
      if (isWhole) envelopes.push({ flags: bytes.readUInt8(0), data: bytes.subarray(prefixBytes, end) });
      const rest = isWhole ? bytes.subarray(end) : bytes;
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#length = rest.length;
      this.#due = isWhole ? prefixBytes : end;
    }
    return envelopes;
  }

  /**
   * To be called when the body is complete. A prefix without any byte of its message is ignored, as by Connect.
   * @throws ConnectError `invalid_argument` if bytes are left that make no envelope
   */
  end(): void {
    if (this.#length === 0 || this.#length === prefixBytes) return;
    throw new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);
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
