import { createHash } from "node:crypto";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import type { Board, Queryable, Unit } from "../board/board.ts";
import { unauthorized } from "../calls/call.ts";
import { badInput, StoaError, StoredDamage } from "../errors.ts";
import { RowMoved } from "../store/database/database-errors.ts";
import {
  deleteReply,
  eraseReply,
  findReply,
  insertReply,
  putReply,
  type ReplyItem,
  renewReply,
  type StoredResponse,
} from "../store/tables/idempotency-replies.ts";
import { encryptedResponseMs, keyLifetimeMs } from "../store/tables/reply-check.ts";
import { putKeyUse } from "../store/tables/unused-agents.ts";
import { decryptResponse, encryptResponse, minEncryptedLength, type ResponseSecret } from "./encrypted-response.ts";

/** How long the previous API key may repeat the rotation that replaced it, in milliseconds. */
const rotationRepeatableMs = 600_000;
/** How long the claim of a call without an idempotency key is kept, in milliseconds. The call itself ends much earlier. */
const keylessMs = 600_000;

/** A call under an idempotency key. */
export interface Claim {
  /** The hash of the key and its owner. Nothing else of them is stored. */
  id: Buffer;
  /** The hash of the call: the RPC and its content. */
  fingerprint: Buffer;
  /** What the response is encrypted with, where it holds an API key. */
  secret: ResponseSecret | undefined;
}

/** What a repeat of a call finds. */
export interface Performed {
  /** The stored response; null if it was erased with the text of the post or comment that `item` names. */
  reply: Buffer | null;
  item: "post" | "comment" | null;
  item_id: number | null;
  /** The attempt that has committed; null if an older version made it. */
  attempt: Buffer | null;
}

/** The name of the header, also in errors. */
export const keyHeader = "Idempotency-Key";

/**
 * The id of an owner's key. `owner` is the kind of owner and its id, or `anybody` if only the key identifies a repeat.
 * The prefix keeps the id apart from what encrypted-response.ts derives from the same key.
 */
export function claimId(owner: string, key: string): Buffer {
  return createHash("sha256").update(`stoa idempotency id\0${owner}\0${key}`).digest();
}

/** The id of an agent's key. */
export function agentClaimId(agentId: number, key: string): Buffer {
  return claimId(`agent ${agentId}`, key);
}

/**
 * Claims a key for the call that runs in `unit`. A concurrent call with the same key waits here until that call ends.
 * @param attempt a random name of this attempt
 * @returns the response of an earlier call with this key; undefined if there is none: then `storeResponse` must follow
 * @throws StoaError `bad_input` when the key was used for another call, or the response is erased; StoredDamage when
 * the stored row is damaged; RowMoved when the row has gone meanwhile
 */
export async function claimKey(unit: Unit, claim: Claim, attempt: Buffer): Promise<Performed | undefined> {
  const { tx, now } = unit;
  const { id, fingerprint } = claim;
  const sealed = claim.secret !== undefined;
  const dueAt = now + (sealed ? encryptedResponseMs : keyLifetimeMs);
  const row = { id, fingerprint, sealed, createdAt: now, dueAt, attempt };
  if (await insertReply(tx, row)) return undefined;
  const known = await findReply(tx, id);
  if (known === undefined) throw new RowMoved();
  const expiryNow = unit.expiryNow?.() ?? now;
  if (isExpired(known, expiryNow)) {
    await renewReply(tx, row);
    return undefined;
  }
  return repeat(known, claim, expiryNow);
}

/**
 * Claims a call without an idempotency key under a random id, so that at most one of its attempts commits. The response need
 * not be stored, because all attempts are in this process.
 * @returns the name of the attempt that has committed, if one has
 * @throws RowMoved when the row has gone meanwhile
 */
export async function claimCall({ tx, now }: Unit, id: Buffer, attempt: Buffer): Promise<Buffer | undefined> {
  // Rows are deleted at the age at which keys expire. This row is dated back, so that it is deleted earlier.
  const dueAt = now + keylessMs;
  const row = { id, fingerprint: Buffer.alloc(32), sealed: true, createdAt: dueAt - keyLifetimeMs, dueAt, attempt };
  if (await insertReply(tx, row)) return undefined;
  const known = await findReply(tx, id);
  if (known === undefined) throw new RowMoved();
  return known.attempt ?? undefined;
}

/** Withdraws the claim of a call that has changed nothing, so that nothing is stored for it. */
export async function takeBackCall({ tx }: Unit, id: Buffer): Promise<void> {
  await deleteReply(tx, id);
}

/**
 * Finds the response of an earlier call with the key without claiming the key, while nothing may be written.
 * @returns undefined where there was no call with the key
 * @throws as `claimKey`
 */
export async function findPerformed(db: Queryable, claim: Claim, expiryNow: number): Promise<Performed | undefined> {
  const known = await findReply(db, claim.id);
  return known === undefined || isExpired(known, expiryNow) ? undefined : repeat(known, claim, expiryNow);
}

/** Whether the key may be used for another call. @throws StoredDamage where the row looks older than it is */
function isExpired({ created_at, lostTime }: StoredResponse, expiryNow: number): boolean {
  if (lostTime) throw damagedResponse();
  return created_at + keyLifetimeMs <= expiryNow;
}

function repeat(known: StoredResponse, claim: Claim, expiryNow: number): Performed {
  // Nothing in a damaged row can be trusted, including its fingerprint.
  if (known.damaged) throw damagedResponse();
  if (!known.fingerprint.equals(claim.fingerprint)) {
    throw badInput(keyHeader, "This Idempotency-Key was used for another call. Each call needs a key of its own.");
  }
  const { item, item_id, attempt } = known;
  const reply = readReply(known, claim, expiryNow);
  if (reply === undefined && item === null) {
    throw badInput(
      keyHeader,
      "The call under this Idempotency-Key has taken effect. Its reply held an API key, and was erased because that key was" +
        " used or an hour has passed.",
    );
  }
  return { reply: reply ?? null, item, item_id, attempt };
}

/** The failure where a stored response cannot be read. The call is not made again, because it has taken effect. */
export function damagedResponse(cause?: unknown): StoredDamage {
  return new StoredDamage(
    "The call under this Idempotency-Key has taken effect, but its stored reply is damaged. Check whether what it made is there.",
    cause,
  );
}

/** @returns undefined where the response is erased. @throws StoredDamage where it is damaged */
function readReply(known: StoredResponse, claim: Claim, expiryNow: number): Buffer | undefined {
  const { reply, sealed, created_at } = known;
  if (sealed !== (claim.secret !== undefined)) throw damagedResponse();
  if (reply === null || claim.secret === undefined) return reply ?? undefined;
  if (reply.length < minEncryptedLength) throw damagedResponse();
  if (created_at + encryptedResponseMs <= expiryNow) return undefined;
  const opened = decryptResponse(claim.secret, associated(claim), reply);
  // The row's id proves that the idempotency key is right. But the API key may not be the one that made the call.
  if (opened === undefined && claim.secret.apiKey === undefined) throw damagedResponse();
  return opened;
}

/**
 * Stores the response of a call that has claimed its key, in the transaction of that call.
 * @param isOutline whether it lacks the text of the post or comment that it shows
 * @param about the post or comment whose text it holds
 */
export async function storeResponse(
  { tx, now }: Unit,
  claim: Claim,
  reply: Uint8Array,
  isOutline: boolean,
  about: ReplyItem | undefined,
): Promise<void> {
  const bytes = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
  const { id, fingerprint, secret } = claim;
  const stored = secret === undefined ? bytes : encryptResponse(secret, associated(claim), bytes);
  const row = { id, fingerprint, sealed: secret !== undefined, createdAt: now, reply: stored, isOutline };
  await putReply(tx, row, about);
}

/** Binds an encrypted response to its row: it cannot be decrypted in another one. */
function associated({ id, fingerprint }: Claim): Buffer {
  return Buffer.concat([id, fingerprint]);
}

/**
 * Records the first use of an agent's API key: the response that holds the key is erased, and the agent's registration no
 * longer lapses. If the database cannot write at the moment, the key still works, and its next use counts as the first.
 * @param ofRead whether the key is used for a read
 * @throws StoaError `unauthorized` if the agent has ended at this moment
 */
export async function recordFirstUse(
  board: Board,
  { signal, ofRead }: { signal: AbortSignal; ofRead: boolean },
  agentId: number,
  replyId: Buffer | null,
): Promise<void> {
  const record = async ({ tx }: Unit) => {
    if (replyId !== null) await eraseReply(tx, replyId);
    if (!(await putKeyUse(tx, agentId, replyId))) throw unauthorized(Access.AGENT);
  };
  try {
    await (ofRead ? board.writeForRead(signal, record) : board.write(signal, record));
  } catch (error) {
    if (!(error instanceof StoaError && error.code === "unavailable")) throw error;
  }
}

/**
 * Whether the previous API key may still repeat the rotation that an agent made with the key of this id.
 * @throws StoredDamage where the stored row is damaged
 */
export async function isRepeatableRotation(db: Queryable, id: Buffer, now: number): Promise<boolean> {
  const known = await findReply(db, id);
  if (known?.damaged || known?.lostTime) throw damagedResponse();
  // Rotations are the only calls by agents whose responses are encrypted.
  return known?.sealed === true && now < known.created_at + rotationRepeatableMs;
}
