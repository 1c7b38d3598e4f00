import http2 from "node:http2";
import type { Socket } from "node:net";
import type { TurnScheduler } from "../../timing/turn-scheduler.ts";
import type { PortStream } from "./http2-stream.ts";
import type { MemberList } from "./member-list.ts";
import { stopReading } from "./transport.ts";

/** How long a peer may take to close its side after the session has ended, in milliseconds. */
const LINGER_MS = 1000;

type Done = (error?: Error | null) => void;

/** What Node calls to end a stream or a socket, for whatever reason. */
interface Destroyable {
  _destroy(error: Error | null, done: Done): void;
}

/** The property of a stream that says when it ends; undefined where it ends at once. */
const endTurns = Symbol("endTurns");

interface EndingStream extends Destroyable {
  [endTurns]?: TurnScheduler | undefined;
}

/**
 * The end of an HTTP/2 session and of its streams, divided among turns of the event loop. Each stream may have a call to
 * end. Node ends all streams of a session at once when its connection closes, and those that a client resets in one go, so
 * a client with thousands of streams would hold up the event loop for most of a second.
 */
export class SessionEnding {
  readonly #turns: TurnScheduler;
  readonly #streams: MemberList<PortStream>;
  readonly #socket: Socket;
  readonly #transport: Socket;
  /** What ends the session and its connection. It waits until the streams have ended. */
  #waiting: (() => void)[] = [];

  /**
   * From now on, the session ends after its streams.
   * @param socket what carries the session
   * @param transport the TCP socket: the same one, or the one under TLS
   * @param streams the open streams of the session; call `continue` when one has closed
   * @param turns says how many streams end in one turn; shared by all sessions
   */
  constructor(
    session: http2.ServerHttp2Session,
    { socket, transport }: { socket: Socket; transport: Socket },
    streams: MemberList<PortStream>,
    turns: TurnScheduler,
  ) {
    this.#turns = turns;
    this.#streams = streams;
    this.#socket = socket;
    this.#transport = transport;
    const { destroy } = session;
    session.destroy = (error, code) => this.#endThen(() => destroy.call(session, error, code));
    for (const each of new Set([socket, transport]) as Iterable<unknown> as Iterable<Destroyable>) {
      const { _destroy } = each;
      each._destroy = (error, done) => this.#endThen(() => _destroy.call(each, error, done));
    }
  }

  /** Whether the session waits for the end of its streams. */
  get isPending(): boolean {
    return this.#waiting.length > 0;
  }

  /** Ends a stream when its turn comes. */
  followStream(stream: http2.ServerHttp2Stream): void {
    const ended = stream as unknown as EndingStream;
    ended[endTurns] = this.#turns;
    ended._destroy = destroyInTurn;
    // The head of a request may have arrived before the session began to end.
    if (this.isPending) this.#turns.wait(() => cutStream(stream));
  }

  /** Cuts a stream when its turn comes. */
  cut(stream: http2.ServerHttp2Stream): void {
    this.#turns.run(() => cutStream(stream));
  }

  /** To be called when a stream has closed. */
  continue(): void {
    if (this.#streams.size > 0 || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const end of waiting) end();
    // Node would wait until it reads that the peer has closed its side.
    const timer = setTimeout(() => this.#socket.destroy(), LINGER_MS);
    this.#socket.once("close", () => clearTimeout(timer));
  }

  #endThen(end: () => void): void {
    if (this.#streams.size === 0) {
      end();
      return;
    }
    this.#waiting.push(end);
    if (this.#waiting.length > 1) return;
    stopReading(this.#transport);
    for (const { stream } of this.#streams.all()) this.cut(stream);
  }
}

/**
 * The `_destroy` of each stream. It is no closure: V8 allocates a function that is written as the value of a property in the
 * old generation, where it would keep the whole call until the next major collection.
 */
function destroyInTurn(this: EndingStream, error: Error | null, done: Done): void {
  const { _destroy } = Object.getPrototypeOf(this) as Destroyable;
  const turns = this[endTurns];
  if (turns === undefined) _destroy.call(this, error, done);
  else turns.run(() => _destroy.call(this, error, done));
}

/** To be called in a turn of the stream: its end is part of that turn. */
function cutStream(stream: http2.ServerHttp2Stream): void {
  if (stream.destroyed) return;
  (stream as unknown as EndingStream)[endTurns] = undefined;
  stream.close(http2.constants.NGHTTP2_CANCEL);
  stream.destroy();
}
