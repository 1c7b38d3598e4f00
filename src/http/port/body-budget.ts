import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { type Intercept, interceptPush } from "./intercept-push.ts";
import { cutSocket } from "./transport.ts";

/** How many bytes there may be of request bodies that have not arrived whole. */
export interface BodyLimits {
  maxPerConnection: number;
  maxTotal: number;
}

/** 256 concurrent calls of a connection may have 24 KiB each on the way. */
const DEFAULT_LIMITS: BodyLimits = { maxPerConnection: 8 * 1024 * 1024, maxTotal: 32 * 1024 * 1024 };
/** What a request costs besides its body, head and handler included. */
const REQUEST_OVERHEAD = 8 * 1024;
/** What each chunk costs besides its bytes: the objects around them. A body may arrive byte by byte. */
const CHUNK_OVERHEAD = 256;
/** How much of a compressed body is kept back until the rest has arrived. A longer one is refused as it comes. */
const MAX_WAITING = 256 * 1024;
/** When a budget is exceeded, holders are cut until no more than this part of it is held. */
const RELIEVED = 7 / 8;
/** What is added to the age of a holder, in milliseconds, when the one to cut is chosen: size decides between new ones. */
const GRACE_MS = 1000;

/** The bytes that a body, a connection with all of its bodies, or all connections hold. */
class Account {
  readonly #limit: number;
  readonly #parent: Account | undefined;
  readonly #cut: () => void;
  /** The accounts below that hold something. Those of bodies have none below. */
  #holders: Set<Account> | undefined;
  #held = 0;
  /** Since when it has held something. */
  #since = 0;

  /** @param cut ends what the account stands for; it holds nothing then */
  constructor(limit: number, parent?: Account, cut: () => void = () => {}) {
    this.#limit = limit;
    this.#parent = parent;
    this.#cut = cut;
  }

  /** Counts bytes here and above. If a budget is exceeded, what holds most and has done so for longest is cut. */
  add(bytes: number): void {
    this.#count(bytes);
    for (let account: Account | undefined = this; account !== undefined; account = account.#parent) {
      if (account.#held > account.#limit) account.#relieve();
    }
  }

  /** Takes out all that is held here. */
  release(): void {
    for (const holder of this.#holders ?? []) holder.release();
    this.#remove(this.#held);
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

/** Bounds what is held of request bodies that have not arrived whole: the handler has them, and must wait for the rest. */
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
   * Counts what arrives of a body, until all of it has.
   * @param body to which Node pushes the chunks, and null at the end
   * @param encoding what the body is compressed with, if anything
   * @param cut ends the request
   * @returns what must be called when the request is over: nobody holds its bytes any longer
   */
  follow(body: Readable, encoding: string | undefined, cut: () => void): () => void {
    let isOpen = true;
    const release = () => {
      isOpen = false;
      account.release();
    };
    const account = new Account(Number.POSITIVE_INFINITY, this.#account, () => {
      isOpen = false;
      cut();
    });
    // A decompressor, and what it makes, take many times what has arrived: it gets the whole body at once.
    let waiting: Buffer[] | undefined = encoding === undefined ? undefined : [];
    let waitingBytes = 0;
    account.add(REQUEST_OVERHEAD + body.readableLength);
    // With HTTP/2, what came with the head is in the body already.
    const begin: Buffer | null = waiting && body.readableLength > 0 ? body.read() : null;
    if (begin !== null) waiting?.push(begin);
    const passWaiting = (push: Intercept) => {
      for (const chunk of waiting ?? []) push(chunk);
      waiting = undefined;
    };
    interceptPush(body, (push) => (chunk, encoding) => {
      if (chunk === null) {
        release();
        passWaiting(push);
        return push(chunk);
      }
      if (isOpen) account.add(chunk.length + CHUNK_OVERHEAD);
      const own = compact(chunk);
      if (waiting === undefined) return push(own, encoding);
      waiting.push(own);
      waitingBytes += own.length;
      if (waitingBytes > MAX_WAITING) passWaiting(push);
      return true;
    });
    return release;
  }
}

/** Copies a chunk that is a small part of its memory. With HTTP/2 that is all that was read from the socket at once. */
function compact(chunk: Buffer): Buffer {
  return chunk.length < chunk.buffer.byteLength / 2 ? Buffer.from(chunk) : chunk;
}
