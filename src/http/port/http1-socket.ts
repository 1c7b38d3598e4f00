import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { TurnScheduler } from "../../timing/turn-scheduler.ts";

/**
 * How much is parsed at a time, in bytes. One read of a socket may bring thousands of requests, or of chunks of one byte, and
 * each costs some calls.
 */
const SLICE_BYTES = 4 * 1024;
/** How much is given to the system at a time, in bytes. */
const PIECE_BYTES = 64 * 1024;
/** Up to this size, a head and its body are copied into one, as to write two takes longer, and count with their request. */
const SHORT_BYTES = 16 * 1024;

type WriteCallback = (error?: Error | null) => void;

/** The connection whose requests are parsed. */
export interface SliceReader {
  /** Bytes have arrived. */
  onArrival(): void;
  /** Whether the next slice may be parsed. */
  mayParse(): boolean;
  /** Whether the reply that is being sent is the last of the connection. */
  readonly ignoresRest: boolean;
  /** How many bytes it was last told by `keepUnparsed`. */
  readonly unparsedBytes: number;
  /** How many bytes have arrived that may not be parsed yet. */
  keepUnparsed(bytes: number): void;
  /** How many bytes of replies have not been sent. */
  keepUnsent(bytes: number): void;
}

/**
 * What Node's HTTP/1.1 server reads and writes instead of a socket: it takes any Duplex. The parser gets the bytes in slices,
 * and connections take turns. So the parser cannot read ahead, as it would from a socket.
 */
export class Http1Socket<Reader extends SliceReader = SliceReader> extends Duplex {
  readonly reader: Reader;
  /** Whether TLS carries HTTP. */
  readonly encrypted: boolean;
  /** How much was given to the system, in bytes. */
  bytesWritten = 0;
  /** Since when the system has taken none of what is written, by `performance.now()`; undefined while nothing waits for it. */
  stuckSince: number | undefined;
  readonly #socket: Socket;
  readonly #turns: TurnScheduler;
  readonly #unparsed: Buffer[] = [];
  /** How many bytes have arrived that have not been parsed. */
  unparsedBytes = 0;
  #hasEnded = false;
  #waitsForTurn = false;
  /** Whether Node takes no more for now. */
  #isFull = false;

  /** @param socket what carries HTTP: a TCP socket, or TLS over one */
  constructor(socket: Socket, turns: TurnScheduler, reader: Reader) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.encrypted = socket instanceof TLSSocket;
    this.#turns = turns;
    this.reader = reader;
    socket.on("data", (chunk: Buffer) => {
      // What comes after the last reply is ignored. It is read, because closing a socket with unread bytes resets it.
      if (this.writableEnded) return;
      this.#unparsed.push(chunk);
      this.unparsedBytes += chunk.length;
      reader.onArrival();
      this.parse();
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      this.parse();
    });
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  /** Gives the parser what has arrived, as far as it may have it. @param hasTurn whether it has a turn for one slice */
  parse(hasTurn = false): void {
    let mayTake = hasTurn;
    while (this.#canParse()) {
      if (!mayTake && !this.#turns.take()) {
        this.#waitForTurn();
        break;
      }
      mayTake = false;
      this.#parseSlice();
    }
    if (this.#unparsed.length > 0 && this.reader.ignoresRest) this.#drop();
    if (this.unparsedBytes !== this.reader.unparsedBytes) this.reader.keepUnparsed(this.unparsedBytes);
    if (this.#unparsed.length > 0) this.#socket.pause();
    else if (this.#hasEnded) this.push(null);
    else if (this.#socket.isPaused() && !this.#isFull) this.#socket.resume();
  }

  #canParse(): boolean {
    return (
      this.#unparsed.length > 0 && !this.#waitsForTurn && !this.#isFull && !this.destroyed && this.reader.mayParse()
    );
  }

  #waitForTurn(): void {
    this.#waitsForTurn = true;
    this.#turns.wait(this.remoteAddress, () => {
      this.#waitsForTurn = false;
      this.parse(true);
    });
  }

  #parseSlice(): void {
    const chunk = this.#unparsed.shift() as Buffer;
    const slice = chunk.length > SLICE_BYTES ? chunk.subarray(0, SLICE_BYTES) : chunk;
    if (slice !== chunk) this.#unparsed.unshift(chunk.subarray(SLICE_BYTES));
    this.unparsedBytes -= slice.length;
    this.#isFull = !this.push(slice);
  }

  override _read(): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    // Node would not parse at once what is pushed within this call.
    process.nextTick(() => this.parse());
  }

  override _writev(chunks: { chunk: Buffer }[], done: WriteCallback): void {
    const bytes: Buffer[] = [];
    if (this.writableLength > SHORT_BYTES) this.reader.keepUnsent(this.writableLength);
    else for (const { chunk } of chunks) bytes.push(chunk);
    this.#sendPieces(bytes.length > 0 ? [{ chunk: Buffer.concat(bytes) }] : [...chunks], done);
  }

  /** Gives the socket small pieces, so that progress can be seen: it reports a write only when all of it has been sent. */
  #sendPieces(chunks: { chunk: Buffer }[], done: WriteCallback): void {
    const sent: WriteCallback = (error) => {
      this.stuckSince = undefined;
      if (chunks.length > 0 && !error) this.#sendPieces(chunks, done);
      else done(error);
    };
    this.stuckSince = performance.now();
    this.#socket.cork();
    let bytes = 0;
    while (bytes < PIECE_BYTES && chunks.length > 0) {
      const { chunk } = chunks.shift() as { chunk: Buffer };
      const piece = chunk.subarray(0, PIECE_BYTES - bytes);
      if (piece.length < chunk.length) chunks.unshift({ chunk: chunk.subarray(piece.length) });
      bytes += piece.length;
      this.#socket.write(piece, bytes === PIECE_BYTES || chunks.length === 0 ? sent : undefined);
    }
    this.bytesWritten += bytes;
    this.#socket.uncork();
  }

  override _final(done: WriteCallback): void {
    this.#drop();
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#drop();
    this.#socket.destroy();
    done(error);
  }

  /** Drops what has arrived and will not be parsed. */
  #drop(): void {
    this.#unparsed.length = 0;
    this.unparsedBytes = 0;
    this.reader.keepUnparsed(0);
    if (this.#socket.isPaused()) this.#socket.resume();
  }
}
