/** What bounds the replies that wait for their clients to read them. */
export interface SendLimits {
  /** How long a reply may have unsent bytes without progress, in milliseconds. */
  sendTimeoutMs: number;
  /** How many unsent bytes of replies one connection may hold, and how many all of them together. */
  maxUnsentPerConnection: number;
  maxUnsent: number;
}

/** A connection, seen as a holder of unsent bytes. */
export interface Sender {
  /** Bytes of replies that are held for it now. */
  unsent(): number;
  /** Looks for progress, and cuts replies that have made none in time. @param now in milliseconds */
  check(now: number): void;
  /** How long it has held unsent bytes without progress, in milliseconds. */
  idleMs(now: number): number;
  /** Ends the connection at once. */
  cut(): void;
}

/** Progress is that so many bytes have left, or all of them: a client that takes a byte a minute makes none. */
const PROGRESS_BYTES = 16 * 1024;
/** When the budget of all connections is exceeded, connections are cut until no more than this part of it is held. */
const RELIEVED = 7 / 8;

/** Tells for how long one queue of bytes has made no progress. */
export class Progress {
  #since: number | undefined;
  #sent = 0;
  #needed = 0;

  /**
   * @param now in milliseconds
   * @param unsent bytes that wait in the queue
   * @param sent bytes that have ever left it
   * @returns milliseconds since bytes last left, 0 if none wait
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

/** Watches what all connections have to send: who makes no progress, and how much memory it takes. */
export class SendWatch {
  readonly limits: SendLimits;
  readonly #senders = new Set<Sender>();
  /** Never less than what is held: the last count, and all that has been written since. */
  #held = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(limits: SendLimits) {
    this.limits = limits;
    const interval = Math.min(1000, Math.ceil(limits.sendTimeoutMs / 4));
    this.#timer = setInterval(() => this.#check(), interval).unref();
  }

  add(sender: Sender): void {
    this.#senders.add(sender);
  }

  remove(sender: Sender): void {
    this.#senders.delete(sender);
  }

  /** To be called before bytes are written; makes room for them if the budget is exceeded. */
  note(bytes: number): void {
    this.#held += bytes;
    if (this.#held > this.limits.maxUnsent) this.#relieve(bytes);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    let held = 0;
    for (const sender of this.#senders) {
      sender.check(now);
      held += sender.unsent();
    }
    this.#held = held;
  }

  /** Cuts the connections that hold most and have been stuck longest. */
  #relieve(bytes: number): void {
    const now = performance.now();
    const holders: { sender: Sender; unsent: number; weight: number }[] = [];
    let held = bytes;
    for (const sender of this.#senders) {
      const unsent = sender.unsent();
      if (unsent === 0) continue;
      held += unsent;
      holders.push({ sender, unsent, weight: unsent * (sender.idleMs(now) + 1000) });
    }
    if (held > this.limits.maxUnsent) {
      holders.sort((one, other) => other.weight - one.weight);
      for (const { sender, unsent } of holders) {
        sender.cut();
        held -= unsent;
        if (held <= this.limits.maxUnsent * RELIEVED) break;
      }
    }
    this.#held = held;
  }
}
