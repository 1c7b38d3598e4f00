import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { HeldKind, HeldMemory } from "./held-memory.ts";
import { interceptPush, type PushInterceptor, pushTo } from "./intercept-push.ts";
import { type Member, MemberList } from "./member-list.ts";
import { cutSocket } from "./transport.ts";

/** The maximum number of bytes of request bodies. */
export interface BodyLimits {
  maxPerConnection: number;
  maxTotal: number;
}

/** Enough for 128 concurrent calls of a connection with 56 KiB each. */
const DEFAULT_LIMITS: BodyLimits = { maxPerConnection: 8 * 1024 * 1024, maxTotal: 32 * 1024 * 1024 };
/** The bytes counted for each request besides its body: its head and its handler. */
const REQUEST_OVERHEAD = 8 * 1024;
/** The bytes counted for each chunk besides its content, for the objects around it. A body may arrive byte by byte. */
const CHUNK_OVERHEAD = 256;
/** How much of a compressed body is buffered until it is complete. A longer body is refused as it arrives. */
const MAX_WAITING = 256 * 1024;
/** How much of another body is buffered. It must fit into the initial window of an HTTP/2 stream, which is 64 KiB. */
const MAX_HELD = 48 * 1024;
/** A copy of at least this length gets a buffer of its own, which can be freed alone. */
const OWN_BUFFER = 4 * 1024;
/** When a budget is exceeded, holders are cut until they hold at most this fraction of it. */
const RELIEVED = 7 / 8;
/** Added to the age of each holder, in milliseconds, when choosing which to cut. So size decides between new holders. */
const GRACE_MS = 1000;

/** The bytes that a body, a connection with all of its bodies, or all connections hold. */
class Account implements Member {
  place = -1;
  readonly #limit: number;
  readonly #parent: Account | undefined;
  readonly #cut: () => void;
  /** The child accounts that hold bytes. The account of a body has no children. */
  #holders: MemberList<Account> | undefined;
  #held = 0;
  /** When it last began to hold bytes, by `performance.now()`. */
  #since = 0;

  /** @param cut ends the request or the connection of this account, which then holds nothing */
  constructor(limit: number, parent?: Account, cut: () => void = () => {}) {
    this.#limit = limit;
    this.#parent = parent;
    this.#cut = cut;
  }

  get held(): number {
    return this.#held;
  }

  /** Counts bytes here and in all parents. If a budget is exceeded, the largest and oldest holders are cut. */
  add(bytes: number): void {
    this.#count(bytes);
    for (let account: Account | undefined = this; account !== undefined; account = account.#parent) {
      if (account.#held > account.#limit) account.relieve(account.#limit * RELIEVED);
    }
  }

  /** Cuts the largest and oldest holders until at most this many bytes are held here. */
  relieve(target: number): void {
    const now = performance.now();
    const weight = (account: Account) => account.#held * (now - account.#since + GRACE_MS);
    const holders = (this.#holders?.all() ?? []).sort((one, other) => weight(other) - weight(one));
    for (const holder of holders) {
      if (this.#held <= target) break;
      holder.release();
      holder.#cut();
    }
  }

  /** Releases everything that is held here. */
  release(): void {
    for (const holder of this.#holders?.all() ?? []) holder.release();
    this.#remove(this.#held);
  }

  /** Goes on holding at most this many bytes. The account must have no children. */
  shrink(bytes: number): void {
    this.#remove(Math.max(0, this.#held - bytes));
  }

  #count(bytes: number): void {
    if (this.#held === 0) {
      this.#since = performance.now();
      if (this.#parent) this.#parent.#hold(this);
    }
    this.#held += bytes;
    if (this.#parent) this.#parent.#count(bytes);
  }

  #hold(holder: Account): void {
    this.#holders ??= new MemberList();
    this.#holders.add(holder);
  }

  #remove(bytes: number): void {
    if (bytes === 0) return;
    this.#held -= bytes;
    if (this.#parent === undefined) return;
    if (this.#held === 0) this.#parent.#holders?.delete(this);
    this.#parent.#remove(bytes);
  }
}

/** Bounds the memory of request bodies: of those that have not arrived whole above all. */
export class BodyBudget implements HeldKind {
  readonly #limits: BodyLimits;
  readonly #memory: HeldMemory;
  readonly #total: Account;

  /** @param memory the budget of everything that clients make the service hold */
  constructor(memory: HeldMemory, limits = DEFAULT_LIMITS) {
    this.#limits = limits;
    this.#memory = memory;
    this.#total = new Account(limits.maxTotal);
    memory.add(this);
  }

  get maxBytes(): number {
    return this.#limits.maxTotal;
  }

  get heldBytes(): number {
    return this.#total.held;
  }

  shrinkTo(bytes: number): void {
    this.#total.relieve(bytes);
  }

  /** @param transport the TCP socket of a connection whose bodies are to be counted */
  connection(transport: Socket): ConnectionBodies {
    const account = new Account(this.#limits.maxPerConnection, this.#total, () => cutSocket(transport));
    return new ConnectionBodies(account, this.#memory);
  }
}

/** The bodies of one connection. */
export class ConnectionBodies {
  readonly #account: Account;
  readonly #memory: HeldMemory;

  constructor(account: Account, memory: HeldMemory) {
    this.#account = account;
    this.#memory = memory;
  }

  /**
   * Counts the bytes of a body until its request is over. A request that waits for its turn, or for a client that does not
   * read the reply, may hold them.
   * @param body Node pushes the chunks to it, and null at the end
   * @param encoding the content encoding of the body, if any
   * @param cut ends the request
   * @param onPassed called when the body may be read: when it is complete, or too long to be buffered. Without it, only
   * a compressed body is buffered, and the handler waits for the body itself.
   * @returns the body; to be released when the request is over and nobody holds its bytes any longer
   */
  follow(body: Readable, encoding: string | undefined, cut: () => void, onPassed?: () => void): { release(): void } {
    return new ArrivingBody(body, this.#account, this.#memory, { encoding, cut, onPassed });
  }
}

interface BodyOptions {
  encoding: string | undefined;
  cut: () => void;
  onPassed: (() => void) | undefined;
}

/** A body whose bytes are counted. */
class ArrivingBody extends Account implements PushInterceptor {
  readonly #body: Readable;
  readonly #memory: HeldMemory;
  readonly #maxWaiting: number;
  readonly #onPassed: (() => void) | undefined;
  #isOpen = true;
  /** The parts that are buffered; undefined where nothing is buffered. */
  #waiting: Buffer[] | undefined;
  /** Those of the buffered parts that only this object refers to. */
  #copies: Buffer[] | undefined;
  #waitingBytes = 0;
  #receivedBytes: number;

  constructor(body: Readable, connection: Account, memory: HeldMemory, { encoding, cut, onPassed }: BodyOptions) {
    super(Number.POSITIVE_INFINITY, connection, cut);
    this.#body = body;
    this.#memory = memory;
    this.#onPassed = onPassed;
    this.#maxWaiting = encoding === undefined ? MAX_HELD : MAX_WAITING;
    // A decompressor and its output take many times the memory of its input. So it gets the whole body at once.
    this.#waiting = encoding === undefined && onPassed === undefined ? undefined : [];
    this.#receivedBytes = body.readableLength;
    this.add(REQUEST_OVERHEAD + body.readableLength);
    // With HTTP/2, the bytes that came with the head are in the body already. Reading also opens the stream's window.
    const mayRead = onPassed !== undefined || (this.#waiting !== undefined && body.readableLength > 0);
    const begin: Buffer | null = mayRead ? body.read() : null;
    if (begin !== null) this.#hold(begin);
    interceptPush(body, this);
  }

  override add(bytes: number): void {
    super.add(bytes);
    this.#memory.check();
  }

  override release(): void {
    super.release();
    this.#isOpen = false;
    if (this.#copies !== undefined) free(this.#copies);
    this.#copies = undefined;
    if (this.#waiting !== undefined) this.#waiting = [];
  }

  intercept(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk === null) return this.#end();
    this.#receivedBytes += chunk.length;
    if (this.#isOpen) this.add(chunk.length + CHUNK_OVERHEAD);
    if (this.#waiting === undefined) return pushTo(this.#body, compact(chunk), encoding);
    if (!this.#isOpen) return true;
    this.#hold(chunk);
    if (this.#waitingBytes > this.#maxWaiting) this.#pass();
    return true;
  }

  #hold(chunk: Buffer): void {
    if (this.#waiting === undefined) return;
    const own = compact(chunk);
    if (own !== chunk) {
      this.#copies ??= [];
      this.#copies.push(own);
    }
    this.#waiting.push(own);
    this.#waitingBytes += own.length;
  }

  #end(): boolean {
    const body = this.#body;
    const isWhole = this.#isOpen && !body.destroyed;
    const wasWaiting = this.#waiting !== undefined;
    interceptPush(body, undefined);
    if (isWhole) {
      this.shrink(this.#receivedBytes);
      this.#push();
    } else {
      // Nobody needs the parts of a body that will never be complete.
      this.release();
      this.#waiting = undefined;
    }
    const result = pushTo(body, null);
    if (isWhole && wasWaiting) this.#onPassed?.();
    return result;
  }

  /** Lets the rest of the body pass as it arrives. */
  #pass(): void {
    this.#push();
    this.#onPassed?.();
  }

  #push(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#copies = undefined;
    for (const each of waiting) pushTo(this.#body, each);
  }
}

/**
 * Frees the memory of dropped chunks. It would stay until the next garbage collection, and clients may send much more than
 * the budget until then. No other code may use the chunks.
 */
function free(chunks: readonly Buffer[]): void {
  for (const { buffer, length } of chunks) {
    // Small chunks share a buffer.
    if (buffer.byteLength === length) (buffer as ArrayBuffer).transfer(0);
  }
}

/** Copies a chunk that is a small part of its buffer. With HTTP/2, the buffer is everything that one read returned. */
function compact(chunk: Buffer): Buffer {
  if (chunk.length >= chunk.buffer.byteLength / 2) return chunk;
  const copy = chunk.length < OWN_BUFFER ? Buffer.allocUnsafe(chunk.length) : Buffer.allocUnsafeSlow(chunk.length);
  copy.set(chunk);
  return copy;
}
