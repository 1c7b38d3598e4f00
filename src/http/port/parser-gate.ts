import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type ChunkTurns, SLICE_BYTES } from "./chunk-turns.ts";

/** The parts of Node's HTTP/1.1 server that its types leave out. */
interface ServedSocket extends Socket {
  parser: {
    onIncoming: ((request: IncomingMessage, shouldKeepAlive: boolean) => number) | null;
    resume(): void;
  } | null;
  /** Whether the server has paused the socket; Node reads no body then, and its data listener must not be called. */
  _paused: boolean;
}

/** An error of Node's parser. */
interface ParserError extends Error {
  code?: string;
  bytesParsed?: number;
  rawPacket?: Buffer;
}

/** What llhttp takes from a callback as the wish to pause: HPE_PAUSED. Node passes the value on as it is. */
const PAUSE = 21;

/**
 * Stops Node's parser in front of the body of a request that has to wait, wherever in what was read that is. Nothing is
 * parsed ahead, so a client gains nothing by pipelining thousands of requests. Node reports the pause as a client error.
 *
 * It also stops in front of a body in chunks, which is then parsed slice by slice; see `ChunkTurns`.
 *
 * From the first pause on the gate stands between the socket and the parser. Connections without one keep Node's own way,
 * which reads past JavaScript.
 */
export class ParserGate {
  readonly #socket: ServedSocket;
  readonly #parse: (chunk: Buffer) => void;
  readonly #end: () => void;
  #stands = false;
  #isOpen = true;
  /** What has arrived behind the point at which the parser stopped. */
  readonly #unparsed: Buffer[] = [];
  #ended = false;
  readonly #turns: ChunkTurns;
  /** Whether the request whose head was parsed last has a body in chunks. */
  #isChunked = false;
  #waitsForTurn = false;

  /**
   * @param socket that Node's server has just begun to serve
   * @param turns shared by all connections
   * @param mustWait whether the request whose head has been parsed has to wait
   */
  constructor(socket: Socket, turns: ChunkTurns, mustWait: () => boolean) {
    this.#socket = socket as ServedSocket;
    this.#turns = turns;
    this.#parse = socket.listeners("data").at(-1) as (chunk: Buffer) => void;
    this.#end = socket.listeners("end").at(-1) as () => void;
    const { parser } = this.#socket;
    const accept = parser?.onIncoming;
    if (parser === null || !accept) throw new Error("this Node.js has no parser on the sockets of its HTTP server");
    parser.onIncoming = (request, shouldKeepAlive) => {
      this.#isChunked = request.headers["transfer-encoding"] !== undefined;
      return accept(request, shouldKeepAlive) || (this.#isChunked || mustWait() ? PAUSE : 0);
    };
  }

  /**
   * Closes the gate if the error is the pause that was asked for, and says whether it is. `open` must follow when the
   * request does not have to wait.
   */
  hold({ code, rawPacket, bytesParsed }: ParserError): boolean {
    if (code !== "HPE_PAUSED" || rawPacket === undefined) return false;
    const rest = rawPacket.subarray(bytesParsed);
    if (rest.length > 0) this.#unparsed.unshift(rest);
    this.close();
    return true;
  }

  /** Lets nothing more through to the parser. */
  close(): void {
    this.#isOpen = false;
    this.#stand();
    this.#pause();
  }

  /** Goes on parsing: the body of the request that waited, then the next head. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#parseWaiting();
  }

  #parseWaiting(): void {
    while (this.#isOpen && this.#unparsed.length > 0) {
      if (this.#isChunked && !this.#waitsForTurn && !this.#turns.take()) this.#waitForTurn();
      if (this.#waitsForTurn) return;
      this.#feed();
    }
    if (!this.#isOpen || this.#socket.destroyed) return;
    this.#socket._paused = false;
    this.#socket.parser?.resume();
    if (this.#ended) this.#end();
    else this.#socket.resume();
  }

  #waitForTurn(): void {
    this.#waitsForTurn = true;
    this.#pause();
    this.#turns.wait(() => {
      this.#waitsForTurn = false;
      if (!this.#isOpen || this.#unparsed.length === 0) return;
      this.#feed();
      this.#parseWaiting();
    });
  }

  /** Comes between the socket and the parser. A data listener of one's own is what makes Node read through JavaScript. */
  #stand(): void {
    if (this.#stands) return;
    this.#stands = true;
    const socket = this.#socket;
    socket.on("data", (chunk) => {
      this.#unparsed.push(chunk);
      if (this.#isOpen && !this.#waitsForTurn) this.#parseWaiting();
      else this.#pause();
    });
    socket.off("data", this.#parse);
    socket.off("end", this.#end);
    socket.on("end", () => {
      this.#ended = true;
      if (this.#isOpen && this.#unparsed.length === 0) this.#end();
    });
    // Node resumes the socket on its own when what it has written has drained.
    socket.on("drain", () => {
      if (!this.#isOpen || this.#waitsForTurn) this.#pause();
    });
  }

  #pause(): void {
    this.#socket._paused = true;
    this.#socket.pause();
  }

  /** Has the parser take what has waited longest, a slice of it where a body comes in chunks. */
  #feed(): void {
    const chunk = this.#unparsed.shift();
    if (chunk === undefined || this.#socket.parser === null || this.#socket.destroyed) return;
    const isSlice = this.#isChunked && chunk.length > SLICE_BYTES;
    if (isSlice) this.#unparsed.unshift(chunk.subarray(SLICE_BYTES));
    this.#socket._paused = false;
    this.#socket.parser.resume();
    this.#parse(isSlice ? chunk.subarray(0, SLICE_BYTES) : chunk);
  }
}
