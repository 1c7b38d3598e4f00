import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { TurnScheduler } from "../../timing/turn-scheduler.ts";

/**
 * How much of a chunked body is parsed at a time, in bytes. Each chunk costs some calls whatever its size, and one read of
 * a socket may bring ten thousand chunks of one byte.
 */
const SLICE_BYTES = 4 * 1024;

/** The parts of Node's HTTP/1.1 server that its types leave out. */
interface ServedSocket extends Socket {
  parser: {
    onIncoming: ((request: IncomingMessage, shouldKeepAlive: boolean) => number) | null;
    resume(): void;
  } | null;
  /** Whether the server has paused the socket. Node reads no body then, and its data listener must not be called. */
  _paused: boolean;
}

/** An error of Node's parser. */
interface ParserError extends Error {
  code?: string;
  bytesParsed?: number;
  rawPacket?: Buffer;
}

/** The return value of a callback that makes llhttp pause (HPE_PAUSED). Node passes it on unchanged. */
const PAUSE = 21;

/**
 * Node's parser, which pauses before the body of a request that has to wait. Nothing is parsed ahead, so a client gains
 * nothing by pipelining thousands of requests. Node reports the pause as a client error.
 *
 * It also pauses before a chunked body, which is then parsed slice by slice: connections take turns, so that these bodies
 * take a bounded time in each turn of the event loop.
 *
 * After the first pause, this class reads the socket and feeds the parser. Before that, Node reads in native code, which is
 * faster.
 */
export class PausableParser {
  readonly #socket: ServedSocket;
  readonly #parse: (chunk: Buffer) => void;
  readonly #end: () => void;
  #isInstalled = false;
  #isPaused = false;
  /** The bytes that have arrived but have not been parsed. */
  readonly #unparsed: Buffer[] = [];
  #ended = false;
  readonly #scheduler: TurnScheduler;
  /** Whether the last request whose head was parsed has a chunked body. */
  #isChunked = false;
  #waitsForTurn = false;

  /**
   * @param socket a socket that Node's server has just begun to serve
   * @param scheduler shared by all connections
   * @param mustWait whether the request whose head was just parsed has to wait
   */
  constructor(socket: Socket, scheduler: TurnScheduler, mustWait: () => boolean) {
    this.#socket = socket as ServedSocket;
    this.#scheduler = scheduler;
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
   * Pauses if the error is the pause that this class asked for. `resume` must follow when the request need not wait.
   * @returns whether the error is that pause
   */
  takePause({ code, rawPacket, bytesParsed }: ParserError): boolean {
    if (code !== "HPE_PAUSED" || rawPacket === undefined) return false;
    const rest = rawPacket.subarray(bytesParsed);
    if (rest.length > 0) this.#unparsed.unshift(rest);
    this.pause();
    return true;
  }

  /** Stops feeding the parser. */
  pause(): void {
    this.#isPaused = true;
    this.#install();
    this.#pauseSocket();
  }

  /** Continues to parse: the body of the waiting request, then the next head. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#parseWaiting();
  }

  #parseWaiting(): void {
    while (!this.#isPaused && this.#unparsed.length > 0) {
      if (this.#isChunked && !this.#waitsForTurn && !this.#scheduler.take()) this.#waitForTurn();
      if (this.#waitsForTurn) return;
      this.#feed();
    }
    if (this.#isPaused || this.#socket.destroyed) return;
    this.#socket._paused = false;
    this.#socket.parser?.resume();
    if (this.#ended) this.#end();
    else this.#socket.resume();
  }

  #waitForTurn(): void {
    this.#waitsForTurn = true;
    this.#pauseSocket();
    this.#scheduler.wait(() => {
      this.#waitsForTurn = false;
      if (this.#isPaused || this.#unparsed.length === 0) return;
      this.#feed();
      this.#parseWaiting();
    });
  }

  /** Takes the place between the socket and the parser. Our own data listener makes Node read through JavaScript. */
  #install(): void {
    if (this.#isInstalled) return;
    this.#isInstalled = true;
    const socket = this.#socket;
    socket.on("data", (chunk) => {
      this.#unparsed.push(chunk);
      if (!this.#isPaused && !this.#waitsForTurn) this.#parseWaiting();
      else this.#pauseSocket();
    });
    socket.off("data", this.#parse);
    socket.off("end", this.#end);
    socket.on("end", () => {
      this.#ended = true;
      if (!this.#isPaused && this.#unparsed.length === 0) this.#end();
    });
    // Node itself resumes the socket when its writes have drained.
    socket.on("drain", () => {
      if (this.#isPaused || this.#waitsForTurn) this.#pauseSocket();
    });
  }

  #pauseSocket(): void {
    this.#socket._paused = true;
    this.#socket.pause();
  }

  /** Parses the oldest bytes; only a slice of them if the body is chunked. */
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
