import { createHash } from "node:crypto";
import type { Board, Queryable, Unit } from "../board/board.ts";
import { badInput, StoaError, StoredDamage } from "../errors.ts";
import { forgetKeyReply } from "../store/tables/agents.ts";
import {
  eraseReply,
  findReply,
  insertReply,
  type KeptReply,
  putReply,
  renewReply,
} from "../store/tables/idempotency-replies.ts";
import { minSealedLength, openReply, type ReplySecret, sealReply } from "./sealed-reply.ts";

/** How long a key is known, in milliseconds. */
export const keptMs = 24 * 3_600_000;
/** How long a reply that holds an API key is kept at most, in milliseconds. */
const sealedKeptMs = 3_600_000;
/** How long the API key before the current one may repeat the rotation that replaced it, in milliseconds. */
const rotationRepeatableMs = 600_000;

/** A call under an idempotency key. */
export interface Claim {
  /** The hash of the key and its owner: all that is stored of them. */
  id: Buffer;
  /** The hash of the call: what is done, and with which content. */
  fingerprint: Buffer;
  /** Where the reply holds an API key: what it is encrypted under. */
  secret: ReplySecret | undefined;
}

/** The header, as errors name it. */
const field = "Idempotency-Key";

/**
 * The id of an owner's key. `owner` names the kind of owner and which it is, `anybody` where the key is all that a repeat
 * is known by. The prefix keeps it apart from what sealed-reply.ts derives of the same key.
 */
export function claimId(owner: string, key: string): Buffer {
  return createHash("sha256").update(`stoa idempotency id\0${owner}\0${key}`).digest();
}

/** The id of an agent's key. */
export function agentClaimId(agentId: number, key: string): Buffer {
  return claimId(`agent ${agentId}`, key);
}

/**
 * Claims a key for the call that runs in `unit`; a concurrent one under the same key waits here for that one's end.
 * @returns the reply of the call that was made under the key before, or undefined where there is none: go on, and call
 * `keepReply`
 * @throws StoaError `bad_input` when the key was used for another call, or the reply is erased
 */
export async function claimReply(unit: Unit, claim: Claim): Promise<Buffer | undefined> {
  const { tx, now, expiryNow = now } = unit;
  const { id, fingerprint } = claim;
  const sealed = claim.secret !== undefined;
  const row = { id, fingerprint, sealed, createdAt: now, dueAt: now + (sealed ? sealedKeptMs : keptMs) };
  if (await insertReply(tx, row)) return undefined;
  const known = await findReply(tx, id);
  // It was swept between the two statements, or its transaction has rolled back.
  if (known === undefined) throw new StoaError("unavailable", "Another call held this key.", { retryAfterSeconds: 1 });
  if (known.created_at + keptMs <= expiryNow) {
    await renewReply(tx, row);
    return undefined;
  }
  return repeat(known, claim, expiryNow);
}

/**
 * The reply of the call that was made under the key before, without a claim to the key: for when nothing may be written.
 * @returns undefined where no call was made under it
 * @throws as `claimReply`
 */
export async function findRepeat(db: Queryable, claim: Claim, expiryNow: number): Promise<Buffer | undefined> {
  const known = await findReply(db, claim.id);
  return known === undefined || known.created_at + keptMs <= expiryNow ? undefined : repeat(known, claim, expiryNow);
}

function repeat(known: KeptReply, claim: Claim, expiryNow: number): Buffer {
  if (!known.fingerprint.equals(claim.fingerprint)) {
    throw badInput(field, "This Idempotency-Key was used for another call. Each call needs a key of its own.");
  }
  const reply = readReply(known, claim, expiryNow);
  if (reply === undefined) {
    throw badInput(
      field,
      "The call under this Idempotency-Key has taken effect; its reply held an API key, and is erased since that key was" +
        " first used, or an hour has passed.",
    );
  }
  return reply;
}

/** What to throw where a kept reply cannot be read. The call is not made again: it has taken effect. */
export function damagedReply(cause?: unknown): StoredDamage {
  return new StoredDamage(
    "The call under this Idempotency-Key has taken effect, but its stored reply is damaged. Look whether what it made is there.",
    cause,
  );
}

/** @returns undefined where it is erased. @throws StoredDamage where it is damaged */
function readReply(known: KeptReply, claim: Claim, expiryNow: number): Buffer | undefined {
  const { reply, sealed, created_at } = known;
  if (sealed !== (claim.secret !== undefined)) throw damagedReply();
  if (claim.secret === undefined) {
    // Only sealed replies are erased before their row is.
    if (reply === null) throw damagedReply();
    return reply;
  }
  if (reply === null) return undefined;
  if (reply.length < minSealedLength) throw damagedReply();
  if (created_at + sealedKeptMs <= expiryNow) return undefined;
  const opened = openReply(claim.secret, associated(claim), reply);
  // The row's id has told the idempotency key to be the right one; an API key may be another than that of the call.
  if (opened === undefined && claim.secret.apiKey === undefined) throw damagedReply();
  return opened;
}

/** Keeps the reply of the call that has claimed its key, as part of that call's transaction. */
export async function keepReply({ tx }: Unit, claim: Claim, reply: Uint8Array): Promise<void> {
  const bytes = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
  const { id, secret } = claim;
  await putReply(tx, id, secret === undefined ? bytes : sealReply(secret, associated(claim), bytes));
}

/** A sealed reply opens in its own row alone. */
function associated({ id, fingerprint }: Claim): Buffer {
  return Buffer.concat([id, fingerprint]);
}

/**
 * Erases the reply that holds an agent's API key, now that the key is used. Where the database cannot write just now the
 * key is good all the same: the next use erases it, and the hour's end in any case.
 */
export async function forgetReply(board: Board, signal: AbortSignal, agentId: number, id: Buffer): Promise<void> {
  try {
    await board.write(signal, async ({ tx }) => {
      await eraseReply(tx, id, keptMs);
      await forgetKeyReply(tx, agentId, id);
    });
  } catch (error) {
    if (!(error instanceof StoaError && error.code === "unavailable")) throw error;
  }
}

/** Whether the rotation that an agent made under the key of this id may still be repeated by the API key before it. */
export async function isRepeatableRotation(db: Queryable, id: Buffer, now: number): Promise<boolean> {
  const known = await findReply(db, id);
  // Of all that agents call, rotations alone give replies that are sealed.
  return known?.sealed === true && now < known.created_at + rotationRepeatableMs;
}
