import { isLost } from "../database-errors.ts";
import { Link } from "./link.ts";
import { Session } from "./session.ts";
import type { DatabaseAddress } from "./socket.ts";

/** How long connecting for KILLs, and then each of them, may take, in milliseconds. */
const answerMs = 1_000;

interface Target extends PromiseWithResolvers<void> {
  link: Link;
}

/**
 * Ends statements whose callers have left, by KILL QUERY. It opens one connection for all pending KILLs, and none while none
 * is pending. When a KILL fails, the server's own timeout ends the statement.
 */
export class StatementKiller {
  readonly #address: DatabaseAddress;
  readonly #pending: Target[] = [];
  #isRunning = false;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  /**
   * Ends the statement of a session, unless that must not be interrupted. Resolves when no KILL is under way any more, which
   * might end another statement of the same connection.
   * @throws the driver's error when the server does not answer
   */
  async end({ link, signal }: Session): Promise<void> {
    if (signal === undefined) return;
    const target = { ...Promise.withResolvers<void>(), link };
    this.#pending.push(target);
    if (!this.#isRunning) void this.#endPending();
    await target.promise;
  }

  async #endPending(): Promise<void> {
    this.#isRunning = true;
    const link = Link.open(this.#address, answerMs);
    try {
      const session = new Session(link);
      await session.lookAtNode(answerMs);
      for (let [target] = this.#pending; target !== undefined; [target] = this.#pending) {
        if (isThere(target.link, link)) await kill(session, target.link);
        this.#pending.shift();
        target.resolve();
      }
    } catch (error) {
      // If the server answered with an error, it is alive. Then nothing is killed, and its own timeout ends the statements.
      for (const { resolve, reject } of this.#pending.splice(0)) isLost(error) ? reject(error) : resolve();
    }
    link.end(answerMs);
    this.#isRunning = false;
  }
}

/** Ids count up from the server's start. A higher id belongs to another server, or to the time before a restart. */
function isThere(target: Link, own: Link): boolean {
  return target.node.server === own.node.server && target.connection.threadId < own.connection.threadId;
}

async function kill(session: Session, { connection }: Link): Promise<void> {
  await session.command(`KILL QUERY ${connection.threadId}`, answerMs).catch((error) => {
    // Any other error says that the connection has already ended.
    if (isLost(error)) throw error;
  });
}
