import { randomBytes } from "node:crypto";
import type { Unit } from "../board/board.ts";
import { StoaError } from "../errors.ts";
import { RowMoved } from "../store/database/database-errors.ts";
import { findReply, insertReply } from "../store/tables/idempotency-replies.ts";
import { keyLifetimeMs } from "../store/tables/reply-check.ts";
import { claimId } from "./claims.ts";

/** How long the claim of a call is kept, in milliseconds. The call itself ends much earlier. */
const lifetimeMs = 600_000;

/**
 * The claims of one call without an idempotency key. Each attempt inserts the same row before it does anything, so that at
 * most one of them commits. The row names the attempt. No reply is stored: it is still in memory.
 */
export class AttemptClaims<Reply> {
  readonly #id = claimId("call", randomBytes(32).toString("base64url"));
  /** What the attempts have made, by the hexadecimal name of the attempt. */
  readonly #made = new Map<string, Reply>();
  #attempt = "";

  /**
   * Claims the call for an attempt.
   * @returns what an earlier attempt has made, if that one has committed
   */
  async claim({ tx, now }: Unit): Promise<Reply | undefined> {
    const fingerprint = randomBytes(32);
    this.#attempt = fingerprint.toString("hex");
    // Rows live as long as keys. This one is entered as old as it must be to be deleted earlier.
    const dueAt = now + lifetimeMs;
    const row = { id: this.#id, fingerprint, sealed: true, createdAt: dueAt - keyLifetimeMs, dueAt };
    if (await insertReply(tx, row)) return undefined;
    const known = await findReply(tx, this.#id);
    // The earlier attempt has rolled back between the two statements.
    if (known === undefined) throw new RowMoved();
    const made = this.#made.get(known.fingerprint.toString("hex"));
    if (made !== undefined) return made;
    throw new StoaError("unavailable", "The claim of this call is damaged.", { retryAfterSeconds: 1 });
  }

  /** Keeps the result of the attempt that has made the last claim. Its transaction may commit now. */
  performed(reply: Reply): void {
    this.#made.set(this.#attempt, reply);
  }
}
