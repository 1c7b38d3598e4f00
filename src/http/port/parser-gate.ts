import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

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
 * Stops Node's parser in front of the body of a request that has to wait, wherever in a chunk that is. Nothing is parsed
 * ahead, so a client gains nothing by pipelining thousands of requests. Node reports the pause as a client error.
 *
 * From the first pause on the gate stands between the socket and the parser. Connections on which no request had to wait
 * keep Node's own way, which reads past JavaScript.
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

  /**
   * @param socket that Node's server has just begun to serve
   * @param mustWait whether the request whose head has been parsed has to wait
   */
  constructor(socket: Socket, mustWait: () => boolean) {
    this.#socket = socket as ServedSocket;
    this.#parse = socket.listeners("data").at(-1) as (chunk: Buffer) => void;
    this.#end = socket.listeners("end").at(-1) as () => void;
    const { parser } = this.#socket;
    const accept = parser?.onIncoming;
    if (parser === null || !accept) throw new Error("this Node.js has no parser on the sockets of its HTTP server");
    parser.onIncoming = (request, shouldKeepAlive) => accept(request, shouldKeepAlive) || (mustWait() ? PAUSE : 0);
  }

  /** Closes the gate if the error is the pause that was asked for, and says whether it is. */
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
    while (this.#isOpen && this.#unparsed.length > 0) this.#feed(this.#unparsed.shift() as Buffer);
    if (!this.#isOpen || this.#socket.destroyed) return;
    this.#socket._paused = false;
    this.#socket.parser?.resume();
    if (this.#ended) this.#end();
    else this.#socket.resume();
  }

  /** Comes between the socket and the parser. A data listener of one's own is what makes Node read through JavaScript. */
  #stand(): void {
    if (this.#stands) return;
    this.#stands = true;
    const socket = this.#socket;
    socket.on("data", (chunk) => {
      if (this.#isOpen) return this.#feed(chunk);
      this.#unparsed.push(chunk);
      this.#pause();
    });
    socket.off("data", this.#parse);
    socket.off("end", this.#end);
    socket.on("end", () => {
      this.#ended = true;
      if (this.#isOpen) this.#end();
    });
    // Node resumes the socket on its own when what it has written has drained.
    socket.on("drain", () => {
      if (!this.#isOpen) this.#pause();
    });
  }

  #pause(): void {
    this.#socket._paused = true;
    this.#socket.pause();
  }

  #feed(chunk: Buffer): void {
    if (this.#socket.parser === null || this.#socket.destroyed) return;
    this.#socket._paused = false;
    this.#socket.parser.resume();
    this.#parse(chunk);
  }
}
