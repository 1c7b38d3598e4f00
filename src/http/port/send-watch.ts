import type { HeldKind, HeldMemory } from "./held-memory.ts";

/** Limits for replies that clients have not read. */
export interface SendLimits {
  /** How long a reply may make no progress, in milliseconds. */
  sendTimeoutMs: number;
  /** The maximum number of unsent bytes, per connection and over all connections. */
  maxUnsentPerConnection: number;
  maxUnsent: number;
}

/** A connection, seen as a holder of unsent bytes. */
export interface Sender {
  /** The unsent bytes of its replies. */
  unsent(): number;
  /** What it holds because of unsent bytes: these, and the objects of the connection and its replies. */
  heldBytes(): number;
  /** Cuts replies that have made no progress in time. @param now in milliseconds */
  check(now: number): void;
  /** How long it has made no progress with unsent bytes, in milliseconds. */
  idleMs(now: number): number;
  /** Ends the connection at once. */
  cut(): void;
}

/** Progress means that this many bytes were sent, or all. So a client that reads a byte a minute makes no progress. */
const PROGRESS_BYTES = 16 * 1024;
/** When the total budget is exceeded, connections are cut until the rest holds at most this fraction of it. */
const RELIEVED = 7 / 8;

/** Measures how long a queue of bytes has made no progress. */
export class Progress {
  #since: number | undefined;
  #sent = 0;
  #needed = 0;

  /**
   * @param now in milliseconds
   * @param unsent the bytes in the queue
   * @param sent all bytes that have ever left the queue
   * @returns milliseconds since the last progress; 0 if the queue is empty
   */
  idleMs(now: number, unsent: number, sent: number): number {
    if (unsent === 0) {
      this.#since = undefined;
      return 0;
    }
    if (this.#since !== undefined && sent - this.#sent < this.#needed) return now - this.#since;
    this.#since = now;
    this.#sent = sent;
    this.#needed = Math.min(PROGRESS_BYTES, unsent);
    return 0;
  }
}

/** Watches the unsent bytes of all connections: their progress, and their memory in total. */
export class SendWatch implements HeldKind {
  readonly limits: SendLimits;
  readonly #memory: HeldMemory;
  readonly #senders = new Set<Sender>();
  /** An upper bound of the unsent bytes: the last count, and all bytes written since. */
  #held = 0;
  /** The bytes that are about to be written. */
  #announced = 0;
  readonly #timer: NodeJS.Timeout;

  /** @param memory the budget of everything that clients make the service hold */
  constructor(limits: SendLimits, memory: HeldMemory) {
    this.limits = limits;
    this.#memory = memory;
    memory.add(this);
    const interval = Math.min(1000, Math.ceil(limits.sendTimeoutMs / 4));
    this.#timer = setInterval(() => this.#check(), interval).unref();
  }

  add(sender: Sender): void {
    this.#senders.add(sender);
  }

  remove(sender: Sender): void {
    this.#senders.delete(sender);
  }

  /** Counts bytes before they are written. Makes room for them if the budget is exceeded. */
  note(bytes: number): void {
    this.#held += bytes;
    this.#announced = bytes;
    const { maxUnsent } = this.limits;
    if (this.#held > maxUnsent) this.#relieve(maxUnsent, maxUnsent * RELIEVED);
    this.#memory.check();
    this.#announced = 0;
  }

  get maxBytes(): number {
    return this.limits.maxUnsent;
  }

  get heldBytes(): number {
    return this.#held;
  }

  recount(): void {
    this.#held = this.#announced;
    for (const sender of this.#senders) this.#held += sender.heldBytes();
  }

  shrinkTo(bytes: number): void {
    this.#relieve(bytes, bytes);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    let held = 0;
    for (const sender of this.#senders) {
      sender.check(now);
      held += sender.heldBytes();
    }
    this.#held = held;
  }

  /**
   * If the replies hold more than `max`, cuts the connections that hold the most bytes and have made no progress for the
   * longest time, until the others hold at most `target`.
   */
  #relieve(max: number, target: number): void {
    const now = performance.now();
    const holders: { sender: Sender; bytes: number; weight: number }[] = [];
    let held = this.#announced;
    for (const sender of this.#senders) {
      const bytes = sender.heldBytes();
      if (bytes === 0) continue;
      held += bytes;
      holders.push({ sender, bytes, weight: bytes * (sender.idleMs(now) + 1000) });
    }
    if (held > max) {
      holders.sort((one, other) => other.weight - one.weight);
      for (const { sender, bytes } of holders) {
        sender.cut();
        held -= bytes;
        if (held <= target) break;
      }
    }
    this.#held = held;
  }
}
