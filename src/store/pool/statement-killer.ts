import { Session, type SessionOptions } from "./session.ts";

/** How long one visit to the server may take, in milliseconds. */
const visitMs = 1_500;

interface Target {
  threadId: number;
  server: string;
  done: () => void;
}

/**
 * Ends statements in the server whose callers have given up, by KILL QUERY. It opens one connection for all that are due
 * at a time, and none while none is. Where it does not succeed, the server's own time limit ends the statement.
 */
export class StatementKiller {
  readonly #options: SessionOptions;
  #due: Target[] = [];
  #isRunning = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Resolves when no KILL for this session is under way any more, whether or not one succeeded. Never rejects. */
  end({ threadId, server }: Session): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#due.push({ threadId, server, done: resolve });
    if (!this.#isRunning) void this.#visit();
    return promise;
  }

  async #visit(): Promise<void> {
    this.#isRunning = true;
    const session = new Session(this.#options, () => clearTimeout(timer));
    const timer = setTimeout(() => session.destroy(new Error("The server is silent.")), visitMs);
    try {
      await session.setUp(this.#options);
      for (let target = this.#due.shift(); target !== undefined; target = this.#due.shift()) {
        // Ids count up from the server's start. A higher one than ours is of another server, or from before a restart.
        const isThere = target.server === session.server && target.threadId < session.threadId;
        // A statement that has ended meanwhile is no failure; one of the connection shows in the next.
        if (isThere) await session.command(`KILL QUERY ${target.threadId}`).catch(() => {});
        target.done();
      }
    } catch {
      // The server does not answer; what is due is left to its time limit.
    } finally {
      session.end();
      for (const { done } of this.#due.splice(0)) done();
      this.#isRunning = false;
    }
  }
}
