import { createHash } from "node:crypto";

/** How long an idempotency key is known, in milliseconds. After that, another call may take over its row. */
export const keyLifetimeMs = 24 * 3_600_000;
/** How long a response that holds an API key is stored at most, in milliseconds. */
export const encryptedResponseMs = 3_600_000;

/** The values of a row that decide what a repeat of its call gets. */
export interface CheckedReply {
  id: Buffer;
  fingerprint: Buffer;
  sealed: boolean;
  /** Milliseconds since 1970, UTC. */
  createdAt: number;
  reply: Buffer;
}

const timeLength = 8;
const hashLength = 16;
const context = "stoa stored response v1\0";

/**
 * The check that is stored with a response, so that damage to the row is found before a repeat gets it. It holds the time
 * of the row as well: a version of Stoa without checks takes over an old row and leaves its check, which then names an
 * earlier time.
 */
export function replyCheck({ id, fingerprint, sealed, createdAt, reply }: CheckedReply): Buffer {
  const time = Buffer.alloc(timeLength);
  time.writeBigInt64BE(BigInt(createdAt));
  // Every part except the last has a fixed length.
  const hash = createHash("sha256").update(context).update(id).update(fingerprint);
  hash
    .update(time)
    .update(sealed ? "\x01" : "\0")
    .update(reply);
  return Buffer.concat([time, hash.digest().subarray(0, hashLength)]);
}

/**
 * Whether a row differs from what was stored. A row without a check, from a version of Stoa that wrote none, counts as
 * good, and so does an encrypted response that was erased.
 * @param sealed the stored number
 */
export function isDamagedReply(row: {
  id: Buffer;
  fingerprint: Buffer;
  reply: Buffer | null;
  sealed: number;
  created_at: number;
  reply_check: Buffer | null;
}): boolean {
  const { reply, sealed, created_at: createdAt, reply_check: check } = row;
  if (sealed !== 0 && sealed !== 1) return true;
  // Only an encrypted response is erased before its row is deleted.
  if (reply === null) return sealed === 0;
  if (check === null) return false;
  const checkedAt = check.readBigInt64BE(0);
  if (BigInt(createdAt) - checkedAt >= BigInt(keyLifetimeMs)) return false;
  return !replyCheck({ ...row, sealed: sealed === 1, createdAt, reply }).equals(check);
}

/**
 * Whether the time of a row is earlier than the time in its check. Such a row looks older than it is, and must not be taken
 * over by another call.
 */
export function hasLostTime(createdAt: number, check: Buffer | null): boolean {
  return check !== null && BigInt(createdAt) < check.readBigInt64BE(0);
}
