import type { IncomingMessage } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import type { HttpRequest, HttpResponse } from "./http-messages.ts";

/** What has arrived of a body. */
export interface ArrivedBody {
  readonly bytes: Buffer;
  /** Whether that is all of it. */
  readonly isWhole: boolean;
  /** Whether the body is longer than what is kept. */
  readonly isTooLong: boolean;
}

/** A reader that waits for a body. */
interface Waiting {
  resolve(arrived: ArrivedBody): void;
  reject(error: Error): void;
  isEnough: ((bytes: Buffer) => boolean) | undefined;
}

/** From which size on the kept bytes count for the memory of the connection. Smaller ones count with the request. */
const countedBytes = 4 * 1024;

/**
 * The body of a request. It is read from its arrival on, also while nobody has asked for it: Node would keep it in the pieces
 * in which it arrives, and each piece may hold one byte.
 */
export class RequestBody {
  readonly #message: IncomingMessage;
  readonly #exchange: HttpResponse["exchange"];
  readonly #maxBytes: number;
  #kept: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Whether `#kept` is a buffer of our own with room for more. */
  #isOwn = false;
  #arrived: ArrivedBody | undefined;
  #failure: Error | undefined;
  #isDropped = false;
  /** Whether a reader has got what is kept. */
  #isShown = false;
  #waiting: Waiting | undefined;

  /** @param maxBytes how much of it is kept */
  constructor(request: HttpRequest, { exchange }: HttpResponse, maxBytes: number) {
    this.#message = request as IncomingMessage;
    this.#exchange = exchange;
    this.#maxBytes = maxBytes;
    this.#message.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
  }

  /**
   * Resolves when the body has arrived, or more of it than is kept.
   * @param isEnough resolves it earlier, once that is true of what has arrived
   * @throws ConnectError `canceled` if the client goes away before that
   */
  arrived(isEnough?: (bytes: Buffer) => boolean): Promise<ArrivedBody> {
    if (this.#arrived !== undefined) return Promise.resolve(this.#arrived);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, isEnough };
      this.#offer();
    });
  }

  /** Keeps no more of it. What still comes is dropped, so that the connection can be used again. */
  drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    // Node keeps messages for a while, and they would keep their listeners.
    this.#message.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose).resume();
    // What nobody has seen is freed now: clients may send much more until the next garbage collection.
    if (this.#isOwn && !this.#isShown) (this.#kept.buffer as ArrayBuffer).transfer(0);
    this.#kept = Buffer.alloc(0);
    this.#exchange?.keep("body", 0);
  }

  readonly #onData = (chunk: Buffer) => {
    const length = this.#length + chunk.length;
    if (length > this.#maxBytes) {
      const bytes = Buffer.concat([this.#kept.subarray(0, this.#length), chunk], this.#maxBytes);
      this.#settle(bytes, true);
      return;
    }
    // With HTTP/2, the buffer of a chunk is everything that one read returned.
    if (this.#length === 0 && 2 * chunk.length >= chunk.buffer.byteLength) this.#keep(chunk, false);
    else {
      if (length > this.#kept.length || !this.#isOwn) this.#grow(length);
      chunk.copy(this.#kept, this.#length);
    }
    this.#length = length;
    this.#offer();
  };

  /** Gives what has arrived to a reader for whom it is enough. */
  #offer(): void {
    if (this.#waiting?.isEnough === undefined || this.#length === 0) return;
    const bytes = this.#kept.subarray(0, this.#length);
    if (!this.#waiting.isEnough(bytes)) return;
    this.#isShown = true;
    this.#waiting.resolve({ bytes, isWhole: false, isTooLong: false });
    this.#waiting = undefined;
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.ceil(1.5 * length)));
    this.#kept.copy(larger, 0, 0, this.#length);
    if (this.#isOwn && !this.#isShown) (this.#kept.buffer as ArrayBuffer).transfer(0);
    this.#keep(larger, true);
  }

  #keep(bytes: Buffer, isOwn: boolean): void {
    this.#kept = bytes;
    this.#isOwn = isOwn;
    if (bytes.length > countedBytes) this.#exchange?.keep("body", bytes.length);
  }

  readonly #onEnd = () => {
    // Over HTTP/2, the body of a request that the client has reset ends, too.
    if (!this.#message.aborted) this.#settle(this.#kept.subarray(0, this.#length), false);
  };

  readonly #onClose = () => {
    this.#failure = new ConnectError("the client disconnected", Code.Canceled);
    this.#waiting?.reject(this.#failure);
    this.drop();
  };

  #settle(bytes: Buffer, isTooLong: boolean): void {
    this.#isShown = true;
    this.#arrived = { bytes, isWhole: !isTooLong, isTooLong };
    this.#waiting?.resolve(this.#arrived);
    this.drop();
  }
}
