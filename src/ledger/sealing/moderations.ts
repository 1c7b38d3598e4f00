import { createHash } from "node:crypto";
import { StoredDamage } from "../../errors.ts";
import { canonicalize, type Json } from "../../receipt/canonical.ts";
import type { Tx } from "../../store/database/queryable.ts";
import {
  listModerationsAfter,
  lockModerationHead,
  type ModerationRow,
  putSealedModerations,
} from "../../store/tables/moderations.ts";

const portion = 1_000;

/**
 * Seals the acts of moderation that no daily receipt has sealed: no act commits until the transaction ends.
 * @returns the evidence of the daily receipt: how many acts there are, and the SHA-256 of their canonical list (RFC 8785) in
 * the order of their ids. docs/verifying.md describes how to recompute it.
 * @throws StoredDamage where acts or the head of the record are missing or damaged
 */
export async function sealModerations(tx: Tx): Promise<{ count: number; hash: string }> {
  const { newest, sealed } = await lockModerationHead(tx);
  const hash = createHash("sha256").update("[");
  let after = sealed;
  while (after < newest) {
    const rows = await listModerationsAfter(tx, after, newest, portion);
    const last = rows.at(-1);
    if (last === undefined || last.id - after !== rows.length) {
      throw new StoredDamage(`The record of moderation lacks acts after ${after}; restore it from a backup.`);
    }
    for (const row of rows) hash.update(`${row.id === sealed + 1 ? "" : ","}${canonicalize(toAct(row))}`);
    after = last.id;
  }
  if (newest > sealed) await putSealedModerations(tx, newest);
  return { count: newest - sealed, hash: hash.update("]").digest("hex") };
}

/** An act as the API shows it. */
export function toAct({ id, role, act, item, item_id, reason, created_at }: ModerationRow): Json {
  return { act, created_at: new Date(created_at).toISOString(), id, item, item_id, reason, role };
}
