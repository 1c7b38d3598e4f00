import http2 from "node:http2";
import type { Socket } from "node:net";
import type { TurnScheduler } from "../../timing/turn-scheduler.ts";
import type { ArrivalGate } from "./arrival-gate.ts";
import type { PortStream, StartedReply, WriteCallback } from "./http2-stream.ts";
import { countedWrite, PIECE_BYTES, streamWasReset, writeInPieces, writeToStream } from "./http2-writes.ts";
import type { MemberList } from "./member-list.ts";
import { replyLength } from "./reply-lengths.ts";
import { Progress, type Sender, type SendWatch } from "./send-watch.ts";
import { cutSocket, sentBytes, waitingBytes } from "./transport.ts";

type Stream = http2.ServerHttp2Stream;

/** The memory of a session besides its streams, in bytes. */
export const SESSION_BYTES = 48 * 1024;
/** The memory of a reply that waits for its client besides its bytes: the objects of its stream and its request. */
const REPLY_BYTES = 10 * 1024;
/** The memory of a request that waits for replies before it to be sent: the objects of its stream. */
const REQUEST_BYTES = 8 * 1024;
/** A stream gets this many timeouts while the socket is the bottleneck: then the stream itself may not be at fault. */
const MAX_TIMEOUTS_BEHIND_SOCKET = 4;
/** Further requests of a session wait while unsent and expected bytes exceed this fraction of its budget. */
const HOLD_BACK = 1 / 2;
/** The expected size of a reply before a session has had one, in bytes. */
const FIRST_EXPECTED_BYTES = 1024 * 1024;
/** The expected size grows at once with a larger reply, and falls by this fraction of the difference with a smaller one. */
const EXPECTATION_STEP = 1 / 8;
/** After this time without a reply, a request is taken for one that waits for an event; no large reply is expected. */
const QUIET_MS = 5000;

interface WaitingRequest {
  open: PortStream;
  work(): void;
}

/** How the streams of a session end. */
interface Ending {
  /** Whether the session has been cut. Its streams still have to end, but nothing is done for them any more. */
  readonly isPending: boolean;
  /** Cuts a stream when its turn comes. */
  cut(stream: Stream): void;
}

/** What the senders of a port share. */
interface SharedBySenders {
  sendWatch: SendWatch;
  /** Says how many requests begin in one turn of the event loop. */
  requestTurns: TurnScheduler;
  gate: ArrivalGate;
}

/** The unsent bytes of an HTTP/2 session, by stream. */
export class Http2Sender implements Sender {
  readonly #socket: Socket;
  readonly #watch: SendWatch;
  readonly #streams: MemberList<PortStream>;
  readonly #ending: Ending;
  /** An upper bound of the unsent bytes: the last count, and all bytes written since. */
  #held = 0;
  /** The bytes of all replies since the session began. */
  #added = 0;
  readonly #progress = new Progress();
  readonly #socketProgress = new Progress();
  readonly #turns: TurnScheduler;
  readonly #gate: ArrivalGate;
  /** How many of its requests the gate counts as waiting for their turn. */
  #counted = 0;
  /** Requests that wait until more bytes have been sent, or for their turn. */
  #waiting: WaitingRequest[] = [];
  #waitsForTurn = false;
  /** How many requests run that have written nothing yet. */
  #working = 0;
  /** How many open streams have a reply that has begun. */
  #started = 0;
  #expectedBytes = FIRST_EXPECTED_BYTES;

  /**
   * @param socket the TCP socket
   * @param streams the open streams of the session
   */
  constructor(
    socket: Socket,
    streams: MemberList<PortStream>,
    ending: Ending,
    { sendWatch, requestTurns, gate }: SharedBySenders,
  ) {
    this.#socket = socket;
    this.#streams = streams;
    this.#ending = ending;
    this.#watch = sendWatch;
    this.#turns = requestTurns;
    this.#gate = gate;
    sendWatch.add(this);
    socket.once("close", () => {
      sendWatch.remove(this);
      this.#waiting = [];
      this.#count();
    });
  }

  /** Counts the bytes that a stream writes. Call this before the first write, and `finished` and `closed` later. */
  follow({ stream }: PortStream): void {
    stream.write = countedWrite;
  }

  /** Writes to a stream, in pieces if necessary. */
  write(
    open: PortStream,
    chunk: string | Uint8Array,
    encoding: BufferEncoding,
    done: WriteCallback | undefined,
  ): boolean {
    const { stream } = open;
    const isLongText = typeof chunk === "string" && chunk.length > PIECE_BYTES;
    const bytes = isLongText ? Buffer.from(chunk, encoding ?? "utf8") : chunk;
    if (!this.#makeRoom(open, bytes.length)) {
      if (done !== undefined) process.nextTick(done, streamWasReset());
      return false;
    }
    if (bytes.length <= PIECE_BYTES) return writeToStream.call(stream, bytes, encoding, done);
    return writeInPieces(stream, bytes as Uint8Array, done);
  }

  /** To be called when a reply is written. One without a body writes nothing, and its stream is open until its request ends. */
  finished(open: PortStream): void {
    this.#stopWork(open);
    this.#goOn();
  }

  /** To be called when a stream has closed and is no longer among the streams of the session. */
  closed(open: PortStream): void {
    if (open.reply !== undefined) this.#started -= 1;
    this.#stopWork(open);
    this.#goOn();
  }

  /** Handles a request now, or when its turn comes and enough bytes of the replies before it have been sent. */
  take(open: PortStream, work: () => void): void {
    if (this.#waiting.length === 0 && !this.#waitsForTurn && !this.#isFull() && this.#turns.take()) {
      this.#start({ open, work });
      return;
    }
    this.#waiting.push({ open, work });
    if (this.#waiting.length === 1) this.#goOn();
    else this.#count();
  }

  unsent(): number {
    let unsent = 0;
    for (const { stream, reply } of this.#streams)
      if (reply !== undefined) unsent += reply.total - sentOf(stream, reply);
    this.#held = unsent;
    return unsent;
  }

  heldBytes(): number {
    // What it holds is about to be freed: no other connection needs to be cut for it.
    if (this.#ending.isPending) return 0;
    let held = 0;
    for (const { stream, reply } of this.#streams) {
      const unsent = reply === undefined ? 0 : reply.total - sentOf(stream, reply);
      if (unsent > 0) held += unsent + REPLY_BYTES;
    }
    return held === 0 ? 0 : held + SESSION_BYTES + this.#waiting.length * REQUEST_BYTES;
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
    for (const open of this.#streams.all()) {
      const { stream, reply, workingSince } = open;
      if (workingSince !== undefined && now - workingSince > QUIET_MS) this.#stopWork(open);
      if (reply === undefined) continue;
      reply.progress ??= new Progress();
      const idleMs = reply.progress.idleMs(now, stream.writableLength, sentOf(stream, reply));
      if (idleMs >= maxIdleMs) this.#ending.cut(stream);
    }
    this.#goOn();
  }

  cut(): void {
    cutSocket(this.#socket);
  }

  /** Counts bytes before they are written. Resets a stream that would exceed the budget of the session. */
  #makeRoom(open: PortStream, bytes: number): boolean {
    if (this.#ending.isPending) return false;
    const { stream, reply } = open;
    const total = reply === undefined ? lengthOf(stream, bytes) : Math.max(reply.total, reply.written + bytes);
    const added = total - (reply?.total ?? 0);
    const { maxUnsentPerConnection } = this.#watch.limits;
    this.#held += added;
    if (this.#held > maxUnsentPerConnection && this.unsent() + added > maxUnsentPerConnection) {
      stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return false;
    }
    this.#added += added;
    let objects = 0;
    if (reply !== undefined) {
      reply.written += bytes;
      reply.total = total;
    } else {
      objects = this.#started === 0 ? SESSION_BYTES + REPLY_BYTES : REPLY_BYTES;
      this.#started += 1;
      open.reply = { written: bytes, total, progress: undefined };
      this.#stopWork(open);
      const made = Math.max(total, replyLength(stream));
      this.#expectedBytes = Math.max(made, this.#expectedBytes + (made - this.#expectedBytes) * EXPECTATION_STEP);
      if (this.#waiting.length > 0) setImmediate(() => this.#goOn());
    }
    this.#watch.note(added + objects);
    return !stream.destroyed;
  }

  #isFull(): boolean {
    const limit = this.#watch.limits.maxUnsentPerConnection * HOLD_BACK;
    const expected = this.#working * this.#expectedBytes;
    return this.#held + expected > limit && this.unsent() + expected > limit;
  }

  #goOn(): void {
    while (this.#waiting.length > 0 && !this.#waitsForTurn && !this.#isFull()) {
      if (!this.#turns.take()) {
        this.#waitsForTurn = true;
        this.#turns.wait(this.#takeTurn);
      } else this.#startNext();
    }
    this.#count();
  }

  readonly #takeTurn = () => {
    this.#waitsForTurn = false;
    if (!this.#isFull()) this.#startNext();
    this.#goOn();
  };

  /** Tells the gate how many requests wait for their turn. Those that wait for replies to be sent may wait for long. */
  #count(): void {
    const counted = this.#waitsForTurn ? this.#waiting.length : 0;
    const more = counted - this.#counted;
    if (more === 0) return;
    this.#counted = counted;
    this.#gate.wait(more);
  }

  #startNext(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#start(next);
  }

  #start({ open, work }: WaitingRequest): void {
    if (open.stream.destroyed || this.#ending.isPending) return;
    open.workingSince = performance.now();
    this.#working += 1;
    work();
  }

  #stopWork(open: PortStream): void {
    if (open.workingSince === undefined) return;
    open.workingSince = undefined;
    this.#working -= 1;
  }
}

/** The bytes of a reply that have been sent. */
function sentOf(stream: Stream, { written }: StartedReply): number {
  return written - stream.writableLength;
}

/** The length of a reply whose first write has `bytes`. Fastify writes long replies in parts and announces their length. */
function lengthOf(stream: Stream, bytes: number): number {
  if (bytes <= PIECE_BYTES) return bytes;
  return Math.max(bytes, Number(stream.sentHeaders?.["content-length"] ?? 0));
}
