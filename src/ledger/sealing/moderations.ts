import { createHash, type Hash } from "node:crypto";
import { StoredDamage } from "../../errors.ts";
import { canonicalize, type Json } from "../../receipt/canonical.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import {
  listModerationsAfter,
  lockModerationHead,
  type ModerationRow,
  putSealedModerations,
  readModerationHead,
} from "../../store/tables/moderations.ts";

/** How many acts are read at once. */
const portion = 1_000;

/** The hash of a canonical list that has begun: of the acts after the act `sealed` up to the act `through`. */
export interface HashedActs {
  sealed: number;
  through: number;
  hash: Hash;
}

/**
 * Hashes the acts that no daily receipt has sealed. It locks nothing. A seal then hashes only the acts that have come since.
 * @throws StoredDamage where acts or the head of the record are missing or damaged
 */
export async function hashUnsealed(db: Queryable): Promise<HashedActs> {
  const { newest, sealed } = await readModerationHead(db);
  return hashUpTo(db, begin(sealed), newest);
}

/**
 * Seals the acts of moderation that no daily receipt has sealed. No further act commits until the transaction ends.
 * @param hashed the result of `hashUnsealed`, just before
 * @returns the evidence of the daily receipt: how many acts there are, and the SHA-256 of their canonical list (RFC 8785) in
 * the order of their ids. docs/verifying.md describes how to recompute it.
 * @throws StoredDamage where acts or the head of the record are missing or damaged
 */
export async function sealModerations(tx: Tx, hashed: HashedActs): Promise<{ count: number; hash: string }> {
  const { newest, sealed } = await lockModerationHead(tx);
  // Another server of a cluster may have been ahead of this one.
  const isBeginning = hashed.sealed === sealed && hashed.through <= newest;
  const { hash } = await hashUpTo(tx, isBeginning ? hashed : begin(sealed), newest);
  if (newest > sealed) await putSealedModerations(tx, newest);
  return { count: newest - sealed, hash: hash.update("]").digest("hex") };
}

function begin(sealed: number): HashedActs {
  return { sealed, through: sealed, hash: createHash("sha256").update("[") };
}

async function hashUpTo(db: Queryable, { sealed, through, hash: begun }: HashedActs, to: number): Promise<HashedActs> {
  const hash = begun.copy();
  for (let after = through; after < to; ) {
    const rows = await listModerationsAfter(db, after, to, portion);
    const last = rows.at(-1);
    if (last === undefined || last.id - after !== rows.length) {
      throw new StoredDamage(`The record of moderation lacks acts after ${after}; restore it from a backup.`);
    }
    for (const row of rows) hash.update(`${row.id === sealed + 1 ? "" : ","}${canonicalize(toAct(row))}`);
    after = last.id;
  }
  return { sealed, through: to, hash };
}

/** An act as the API shows it. */
export function toAct({ id, role, act, item, item_id, reason, created_at }: ModerationRow): Json {
  return { act, created_at: new Date(created_at).toISOString(), id, item, item_id, reason, role };
}
