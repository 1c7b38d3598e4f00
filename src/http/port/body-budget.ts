import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { interceptPush } from "./intercept-push.ts";
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
/** When a budget is exceeded, holders are cut until they hold at most this fraction of it. */
const RELIEVED = 7 / 8;
/** Added to the age of each holder, in milliseconds, when choosing which to cut. So size decides between new holders. */
const GRACE_MS = 1000;

/** The bytes that a body, a connection with all of its bodies, or all connections hold. */
class Account {
  readonly #limit: number;
  readonly #parent: Account | undefined;
  readonly #cut: () => void;
  readonly #drop: (() => void) | undefined;
  /** The child accounts that hold bytes. The account of a body has no children. */
  #holders: Set<Account> | undefined;
  #held = 0;
  /** When it last began to hold bytes, by `performance.now()`. */
  #since = 0;

  /**
   * @param cut ends the request or the connection of this account, which then holds nothing
   * @param drop lets go of the bytes
   */
  constructor(limit: number, parent?: Account, cut: () => void = () => {}, drop?: () => void) {
    this.#limit = limit;
    this.#parent = parent;
    this.#cut = cut;
    this.#drop = drop;
  }

  /** Counts bytes here and in all parents. If a budget is exceeded, the largest and oldest holders are cut. */
  add(bytes: number): void {
    this.#count(bytes);
    for (let account: Account | undefined = this; account !== undefined; account = account.#parent) {
      if (account.#held > account.#limit) account.#relieve();
    }
  }

  /** Releases everything that is held here. */
  release(): void {
    for (const holder of this.#holders ?? []) holder.release();
    this.#remove(this.#held);
    this.#drop?.();
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
    this.#holders ??= new Set();
    this.#holders.add(holder);
  }

  #remove(bytes: number): void {
    if (bytes === 0) return;
    this.#held -= bytes;
    if (this.#parent === undefined) return;
    if (this.#held === 0) this.#parent.#holders?.delete(this);
    this.#parent.#remove(bytes);
  }

  #relieve(): void {
    const now = performance.now();
    const weight = (account: Account) => account.#held * (now - account.#since + GRACE_MS);
    const holders = [...(this.#holders ?? [])].sort((one, other) => weight(other) - weight(one));
    for (const holder of holders) {
      holder.release();
      holder.#cut();
      if (this.#held <= this.#limit * RELIEVED) break;
    }
  }
}

/** Bounds the memory of request bodies: of those that have not arrived whole above all. */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #total: Account;

  constructor(limits = DEFAULT_LIMITS) {
    this.#limits = limits;
    this.#total = new Account(limits.maxTotal);
  }

  /** @param transport the TCP socket of a connection whose bodies are to be counted */
  connection(transport: Socket): ConnectionBodies {
    return new ConnectionBodies(new Account(this.#limits.maxPerConnection, this.#total, () => cutSocket(transport)));
  }
}

/** The bodies of one connection. */
export class ConnectionBodies {
  readonly #account: Account;

  constructor(account: Account) {
    this.#account = account;
  }

  /**
   * Counts the bytes of a body until its request is over. A request that waits for its turn, or for a client that does not
   * read the reply, may hold them.
   * @param body Node pushes the chunks to it, and null at the end
   * @param encoding the content encoding of the body, if any
   * @param cut ends the request
   * @param onPassed called when the body may be read: when it is complete, or too long to be buffered. Without it, only
   * a compressed body is buffered, and the handler waits for the body itself.
   * @returns a function to call when the request is over and nobody holds its bytes any longer
   */
  follow(body: Readable, encoding: string | undefined, cut: () => void, onPassed?: () => void): () => void {
    let isOpen = true;
    // A decompressor and its output take many times the memory of its input. So it gets the whole body at once.
    let waiting: Buffer[] | undefined = encoding === undefined && onPassed === undefined ? undefined : [];
    let waitingBytes = 0;
    let receivedBytes = body.readableLength;
    const maxWaiting = encoding === undefined ? MAX_HELD : MAX_WAITING;
    const release = () => account.release();
    const account = new Account(Number.POSITIVE_INFINITY, this.#account, cut, () => {
      isOpen = false;
      waiting &&= [];
    });
    account.add(REQUEST_OVERHEAD + body.readableLength);
    // With HTTP/2, the bytes that came with the head are in the body already. Reading also opens the stream's window.
    const begin: Buffer | null = onPassed !== undefined || (waiting && body.readableLength > 0) ? body.read() : null;
    if (begin !== null) {
      waiting?.push(compact(begin));
      waitingBytes += begin.length;
    }
    interceptPush(body, (push) => (chunk, encoding) => {
      if (chunk === null) {
        const isWhole = isOpen && !body.destroyed;
        // Nobody needs the parts of a body that will never be complete.
        const rest = isWhole ? waiting : undefined;
        waiting = undefined;
        if (isWhole) account.shrink(receivedBytes);
        else release();
        for (const each of rest ?? []) push(each);
        const result = push(chunk);
        if (rest !== undefined) onPassed?.();
        return result;
      }
      receivedBytes += chunk.length;
      if (isOpen) account.add(chunk.length + CHUNK_OVERHEAD);
      const own = compact(chunk);
      if (waiting === undefined) return push(own, encoding);
      if (!isOpen) return true;
      waiting.push(own);
      waitingBytes += own.length;
      if (waitingBytes <= maxWaiting) return true;
      const begun = waiting;
      waiting = undefined;
      for (const each of begun) push(each);
      onPassed?.();
      return true;
    });
    return release;
  }
}

/** Copies a chunk that is a small part of its buffer. With HTTP/2, the buffer is everything that one read returned. */
function compact(chunk: Buffer): Buffer {
  return chunk.length < chunk.buffer.byteLength / 2 ? Buffer.from(chunk) : chunk;
}
