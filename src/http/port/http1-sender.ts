import type { Socket } from "node:net";
import { Progress, type Sender, type SendWatch } from "./send-watch.ts";
import { cutSocket, sentBytes, waitingBytes } from "./transport.ts";

/** The memory of a connection that sends a reply besides the bytes, with the objects of its request. */
const CONNECTION_BYTES = 12 * 1024;
/** Smaller writes are counted together: the budgets need no more precision. */
const COUNTED_BYTES = 16 * 1024;

/**
 * The unsent bytes of an HTTP/1.1 connection. It sends one reply at a time, so only a single reply can exceed the budget of
 * the connection.
 */
export class Http1Sender implements Sender {
  readonly #socket: Socket;
  readonly #transport: Socket;
  readonly #watch: SendWatch;
  readonly #progress = new Progress();
  #uncounted = 0;

  /**
   * @param socket the socket that carries HTTP
   * @param transport the TCP socket: the same one, or the one under TLS
   */
  constructor(socket: Socket, transport: Socket, watch: SendWatch) {
    this.#socket = socket;
    this.#transport = transport;
    this.#watch = watch;
    this.#countWrites();
    watch.add(this);
    socket.once("close", () => watch.remove(this));
  }

  unsent(): number {
    // TLS holds encrypted bytes in addition to the plain text.
    const encrypted = this.#transport === this.#socket ? 0 : waitingBytes(this.#transport);
    return this.#socket.writableLength + encrypted;
  }

  heldBytes(): number {
    const unsent = this.unsent();
    return unsent === 0 ? 0 : unsent + CONNECTION_BYTES;
  }

  idleMs(now: number): number {
    return this.#progress.idleMs(now, this.unsent(), sentBytes(this.#transport));
  }

  check(now: number): void {
    if (this.idleMs(now) >= this.#watch.limits.sendTimeoutMs) this.cut();
  }

  cut(): void {
    cutSocket(this.#transport);
  }

  #countWrites(): void {
    const socket = this.#socket;
    const write = socket.write;
    socket.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
      this.#uncounted += chunk.length;
      let bytes = chunk;
      if (this.#uncounted >= COUNTED_BYTES) {
        this.#watch.note(this.#uncounted);
        this.#uncounted = 0;
        // Until a string is sent, Node reserves three bytes for each of its characters.
        if (typeof chunk === "string") bytes = Buffer.from(chunk, (encoding ?? "utf8") as BufferEncoding);
      }
      return write.call(socket, bytes, encoding as BufferEncoding, done as () => void);
    };
  }
}
