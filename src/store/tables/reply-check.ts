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
  /** Whether the reply is stored without the text that it shows. */
  isOutline: boolean;
}

const timeLength = 8;
const hashLength = 16;
const context = "stoa stored response v1\0";
/** Differs, so that a version of Stoa without outlines takes them for damaged instead of showing empty texts. */
const outlineContext = "stoa stored outline v1\0";

/**
 * The check that is stored with a response, so that damage to the row is found before a repeat gets it. It begins with the
 * time of the row; see `hasLostTime`.
 */
export function replyCheck({ id, fingerprint, sealed, createdAt, reply, isOutline }: CheckedReply): Buffer {
  const time = Buffer.alloc(timeLength);
  time.writeBigInt64BE(BigInt(createdAt));
  // Every part except the last has a fixed length.
  const hash = createHash("sha256")
    .update(isOutline ? outlineContext : context)
    .update(id)
    .update(fingerprint)
    .update(time)
    .update(sealed ? "\x01" : "\0")
    .update(reply);
  return Buffer.concat([time, hash.digest().subarray(0, hashLength)]);
}

/** Whether a row differs from what was stored. A response that was erased counts as good, where responses are erased. */
export function isDamagedReply(row: {
  id: Buffer;
  fingerprint: Buffer;
  reply: Buffer | null;
  sealed: number;
  created_at: number;
  reply_check: Buffer | null;
  item: string | null;
}): boolean {
  const { reply, sealed, created_at: createdAt, reply_check: check } = row;
  if (sealed !== 0 && sealed !== 1) return true;
  // Only two kinds of responses are erased before their rows: encrypted ones, and those with the text of what is removed.
  if (reply === null) return sealed === 0 && row.item === null;
  if (check === null) return true;
  const isRight = (isOutline: boolean) =>
    replyCheck({ ...row, sealed: sealed === 1, createdAt, reply, isOutline }).equals(check);
  return !isRight(false) && !isRight(true);
}

/**
 * Whether the time of a row is earlier than the time in its check. Such a row looks older than it is, and must not be taken
 * over by another call.
 */
export function hasLostTime(createdAt: number, check: Buffer | null): boolean {
  return check !== null && BigInt(createdAt) < check.readBigInt64BE(0);
}
