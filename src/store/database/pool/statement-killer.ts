import { Session, type SessionOptions } from "./session.ts";

/** How long one connection for KILLs may last, in milliseconds. */
const connectionTimeoutMs = 1_500;

interface Target {
  threadId: number;
  server: string;
  done: () => void;
}

/**
 * Ends statements whose callers have given up, by KILL QUERY. It opens one connection for all pending KILLs, and none while
 * none is pending. When a KILL fails, the server's own timeout ends the statement.
 */
export class StatementKiller {
  readonly #options: SessionOptions;
  #pending: Target[] = [];
  #isRunning = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Resolves when the KILL for this session is over, whether or not it succeeded. Never rejects. */
  end({ threadId, server }: Session): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pending.push({ threadId, server, done: resolve });
    if (!this.#isRunning) void this.#killPending();
    return promise;
  }

  async #killPending(): Promise<void> {
    this.#isRunning = true;
    const session = new Session(this.#options, () => clearTimeout(timer));
    const timer = setTimeout(() => session.destroy(new Error("The server does not answer.")), connectionTimeoutMs);
    try {
      await session.setUp(this.#options);
      for (let target = this.#pending.shift(); target !== undefined; target = this.#pending.shift()) {
        // Ids count up from the server's start. A higher id belongs to another server, or to the time before a restart.
        const isThere = target.server === session.server && target.threadId < session.threadId;
        // It fails when the statement has ended meanwhile. A lost connection makes the next KILL fail as well.
        if (isThere) await session.command(`KILL QUERY ${target.threadId}`).catch(() => {});
        target.done();
      }
    } catch {
      // The server does not answer. Its own timeout ends the pending statements.
    } finally {
      session.end();
      for (const { done } of this.#pending.splice(0)) done();
      this.#isRunning = false;
    }
  }
}
