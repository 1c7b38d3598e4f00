import { Session, type SessionOptions } from "./session.ts";

/** How long one connection for KILLs may last, in milliseconds. */
const connectionTimeoutMs = 1_500;

interface Target {
  address: SessionOptions["address"];
  threadId: number;
  server: string;
  done: () => void;
}

/**
 * Ends statements whose callers have given up, by KILL QUERY. It opens one connection for all pending KILLs, and none while
 * none is pending. When a KILL fails, the server's own timeout ends the statement.
 */
export class StatementKiller {
  readonly #options: Pick<SessionOptions, "statementTimeoutMs">;
  #pending: Target[] = [];
  #isRunning = false;

  constructor(options: Pick<SessionOptions, "statementTimeoutMs">) {
    this.#options = options;
  }

  /** Resolves when the KILL for this session is over, whether or not it succeeded. Never rejects. */
  end({ address, threadId, node: { server } }: Session): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pending.push({ address, threadId, server, done: resolve });
    if (!this.#isRunning) void this.#killPending(address);
    return promise;
  }

  async #killPending(address: Target["address"]): Promise<void> {
    this.#isRunning = true;
    const { statementTimeoutMs } = this.#options;
    const options = { address, statementTimeoutMs };
    const session = new Session(options, () => clearTimeout(timer));
    const timer = setTimeout(() => session.destroy(new Error("The server does not answer.")), connectionTimeoutMs);
    try {
      await session.setUp(options);
      for (let target = this.#pending.shift(); target !== undefined; target = this.#pending.shift()) {
        // Ids count up from the server's start. A higher id belongs to another server, or to the time before a restart.
        const isThere = target.server === session.node.server && target.threadId < session.threadId;
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
