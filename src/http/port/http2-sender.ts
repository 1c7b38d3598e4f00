import http2 from "node:http2";
import type { Socket } from "node:net";
import { replyLength } from "./reply-lengths.ts";
import { Progress, type Sender, type SendWatch } from "./send-watch.ts";
import { cutSocket, sentBytes, waitingBytes } from "./transport.ts";

type Stream = http2.ServerHttp2Stream;

/** What is handed to nghttp2 of one stream at a time. It tells nothing of a write before all of it has left. */
const PIECE_BYTES = 16 * 1024;
/** While the socket is the bottleneck, no stream is to blame; but none may hide behind the others for longer than this. */
const MAX_TIMEOUTS_BEHIND_SOCKET = 4;
/** With more than this part of its budget unsent, or expected from requests in work, a session's further requests wait. */
const HOLD_BACK = 1 / 2;
/** What a session's replies are expected to have, in bytes, before it has had some. */
const FIRST_EXPECTED_BYTES = 1024 * 1024;
/** Larger replies are expected at once where one has come, smaller ones by and by: each counts for this part. */
const EXPECTATION_STEP = 1 / 8;
/** A request without a reply for this long is one that waits for something to happen; no large reply is expected of it. */
const QUIET_MS = 5000;

/** A stream that has written something. */
interface Outlet {
  written: number;
  /** What the whole reply has, as far as it is known: its announced length, or what has been written. */
  total: number;
  progress: Progress;
}

/** What an HTTP/2 session has to send, its streams one by one. */
export class Http2Sender implements Sender {
  readonly #socket: Socket;
  readonly #watch: SendWatch;
  readonly #outlets = new Map<Stream, Outlet>();
  /** Never less than what is unsent: the last count, and what has been written since. */
  #held = 0;
  /** Bytes of all replies that there have ever been. */
  #added = 0;
  readonly #progress = new Progress();
  readonly #socketProgress = new Progress();
  /** Requests that wait until more has been sent. */
  #waiting: (() => void)[] = [];
  /** Requests that are worked on and have written nothing yet, with the time at which that began. */
  readonly #working = new Map<Stream, number>();
  #expectedBytes = FIRST_EXPECTED_BYTES;

  /** @param socket the TCP socket */
  constructor(socket: Socket, watch: SendWatch) {
    this.#socket = socket;
    this.#watch = watch;
    watch.add(this);
    socket.once("close", () => {
      watch.remove(this);
      this.#waiting = [];
    });
  }

  /** Counts what a stream writes. To be called before anything is. */
  follow(stream: Stream): void {
    const write = stream.write;
    stream.write = (chunk: string | Uint8Array, encoding?: unknown, callback?: unknown): boolean => {
      const done = typeof callback === "function" ? tellingOfResets(callback as WriteCallback) : callback;
      const isLongText = typeof chunk === "string" && chunk.length > PIECE_BYTES;
      const bytes = isLongText ? Buffer.from(chunk, (encoding ?? "utf8") as BufferEncoding) : chunk;
      if (!this.#makeRoom(stream, bytes.length)) {
        if (typeof done === "function") process.nextTick(done, new Error("the client reads too slowly"));
        return false;
      }
      if (bytes.length <= PIECE_BYTES) return write.call(stream, bytes, encoding as BufferEncoding, done as () => void);
      return writeInPieces(stream, write, bytes as Uint8Array, done as (() => void) | undefined);
    };
    // A reply without a body writes nothing, and a client that has not ended its request keeps the stream open.
    stream.once("finish", () => {
      this.#working.delete(stream);
      this.#goOn();
    });
    stream.once("close", () => {
      this.#outlets.delete(stream);
      this.#working.delete(stream);
      this.#goOn();
    });
  }

  /** Works on a request now, or when enough of the replies before it has been sent. */
  take(stream: Stream, work: () => void): void {
    const start = () => {
      if (stream.destroyed) return;
      this.#working.set(stream, performance.now());
      work();
    };
    if (this.#waiting.length > 0 || this.#isFull()) this.#waiting.push(start);
    else start();
  }

  unsent(): number {
    let unsent = 0;
    for (const [stream, outlet] of this.#outlets) unsent += outlet.total - sentOf(stream, outlet);
    this.#held = unsent;
    return unsent;
  }

  idleMs(now: number): number {
    const unsent = this.unsent();
    return this.#progress.idleMs(now, unsent, this.#added - unsent);
  }

  check(now: number): void {
    const { sendTimeoutMs } = this.#watch.limits;
    const waiting = waitingBytes(this.#socket);
    if (this.#socketProgress.idleMs(now, waiting, sentBytes(this.#socket)) >= sendTimeoutMs) {
      this.cut();
      return;
    }
    const maxIdleMs = waiting > 0 ? sendTimeoutMs * MAX_TIMEOUTS_BEHIND_SOCKET : sendTimeoutMs;
    for (const [stream, outlet] of this.#outlets) {
      const idleMs = outlet.progress.idleMs(now, stream.writableLength, sentOf(stream, outlet));
      if (idleMs >= maxIdleMs) stream.close(http2.constants.NGHTTP2_CANCEL);
    }
    for (const [stream, since] of this.#working) if (now - since > QUIET_MS) this.#working.delete(stream);
    this.#goOn();
  }

  cut(): void {
    cutSocket(this.#socket);
  }

  /** Counts bytes that are about to be written; a stream that would exceed the session's budget is reset instead. */
  #makeRoom(stream: Stream, bytes: number): boolean {
    const outlet = this.#outlets.get(stream);
    const total = outlet === undefined ? lengthOf(stream, bytes) : Math.max(outlet.total, outlet.written + bytes);
    const added = total - (outlet?.total ?? 0);
    const { maxUnsentPerConnection } = this.#watch.limits;
    this.#held += added;
    if (this.#held > maxUnsentPerConnection && this.unsent() + added > maxUnsentPerConnection) {
      stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return false;
    }
    this.#added += added;
    if (outlet !== undefined) {
      outlet.written += bytes;
      outlet.total = total;
    } else {
      this.#outlets.set(stream, { written: bytes, total, progress: new Progress() });
      this.#working.delete(stream);
      const made = Math.max(total, replyLength(stream));
      this.#expectedBytes = Math.max(made, this.#expectedBytes + (made - this.#expectedBytes) * EXPECTATION_STEP);
      if (this.#waiting.length > 0) setImmediate(() => this.#goOn());
    }
    this.#watch.note(added);
    return !stream.destroyed;
  }

  #isFull(): boolean {
    const limit = this.#watch.limits.maxUnsentPerConnection * HOLD_BACK;
    const expected = this.#working.size * this.#expectedBytes;
    return this.#held + expected > limit && this.unsent() + expected > limit;
  }

  #goOn(): void {
    while (this.#waiting.length > 0 && !this.#isFull()) this.#waiting.shift()?.();
  }
}

/** Bytes of a reply that have left. */
function sentOf(stream: Stream, { written }: Outlet): number {
  return written - stream.writableLength;
}

/** The length of a reply that begins with so many bytes. Fastify writes long ones in parts, and announces their length. */
function lengthOf(stream: Stream, bytes: number): number {
  if (bytes <= PIECE_BYTES) return bytes;
  return Math.max(bytes, Number(stream.sentHeaders?.["content-length"] ?? 0));
}

/** Writes so that nghttp2 gets one piece after another, and what has left is seen. */
function writeInPieces(
  stream: Stream,
  write: Stream["write"],
  bytes: Uint8Array,
  done: (() => void) | undefined,
): boolean {
  // Without it Node writes one chunk after another; with it, all that wait at once.
  Object.defineProperty(stream, "_writev", { value: undefined });
  let begin = 0;
  for (; bytes.length - begin > PIECE_BYTES; begin += PIECE_BYTES) {
    write.call(stream, bytes.subarray(begin, begin + PIECE_BYTES), "buffer" as BufferEncoding);
  }
  return write.call(stream, bytes.subarray(begin), "buffer" as BufferEncoding, done);
}

type WriteCallback = (error?: Error | null) => void;

/** A write that a reset cancels fails as any write to a closed stream does: Connect logs other failures as the server's. */
function tellingOfResets(callback: WriteCallback): WriteCallback {
  return (error) => {
    if (error && (error as NodeJS.ErrnoException).code === "ECANCELED") {
      callback(Object.assign(new Error("the stream was reset", { cause: error }), { code: "ERR_STREAM_DESTROYED" }));
    } else callback(error);
  };
}
