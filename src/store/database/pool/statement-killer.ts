import { isLost } from "../database-errors.ts";
import { Link } from "./link.ts";
import { Session } from "./session.ts";
import type { DatabaseAddress } from "./socket.ts";

/** How long connecting, and then each statement, may take, in milliseconds. */
const answerMs = 1_000;

interface Target extends PromiseWithResolvers<void> {
  link: Link;
}

/**
 * Ends statements whose callers have left, by KILL QUERY. It opens a connection when a KILL is pending, and closes it when none
 * is. When a KILL fails, the server's own timeouts end the statement.
 */
export class StatementKiller {
  readonly #address: DatabaseAddress;
  readonly #pending: Target[] = [];
  #isRunning = false;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  /**
   * Ends the statement of a session, unless it must not be interrupted. Resolves when the KILL is done: until then it could end
   * the next statement of the same connection.
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
      // A server that answers with an error is alive. Its own timeouts then end the remaining statements.
      for (const { resolve, reject } of this.#pending.splice(0)) isLost(error) ? reject(error) : resolve();
    }
    link.end(answerMs);
    this.#isRunning = false;
  }
}

/** Whether the target is a connection to this server, and since its start: then its id is lower, because ids count up. */
function isThere(target: Link, own: Link): boolean {
  return target.node.server === own.node.server && target.connection.threadId < own.connection.threadId;
}

async function kill(session: Session, { connection }: Link): Promise<void> {
  await session.command(`KILL QUERY ${connection.threadId}`, answerMs).catch((error) => {
    // Any other error means that the connection has already ended.
    if (isLost(error)) throw error;
  });
}
