import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestDatabase } from "../../support/database.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import type { Service } from "../../support/service.ts";
import { type LedgerUnderTest, type StoredRow, startLedger, type TestClock, unlockReceipts } from "../support.ts";

export type Guarded = LedgerUnderTest & { dataDir: string };

export const immutable = "public, max-age=31536000, immutable";

/** What the service says about the caching of a receipt. */
export async function cacheOf(service: Service, seq: number, form = ""): Promise<string | null> {
  return (await fetch(`${service.url}/api/v1/house/receipts/${seq}${form}`)).headers.get("cache-control");
}

const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };

/** A ledger of `count` receipts that tests may remove. Its guard checks only on request. */
export async function startGuarded(
  count: number,
  {
    db,
    dataDir = scratchFolder(),
    lookMs = 3_600_000,
    clock,
  }: { db?: TestDatabase; dataDir?: string; lookMs?: number; clock?: TestClock } = {},
): Promise<Guarded> {
  const shared = { ...(db && { db }), ...(clock && { clock }) };
  // A seal is acknowledged when its file is written, however slow the disk is.
  const overrides = { guardLookMs: lookMs, guardStoreMs: 100_000 };
  const ledger = await startLedger({ config: { dataDir, metrics }, overrides, ...shared });
  if (db === undefined) await unlockReceipts(ledger.db);
  for (let seq = 2; seq <= count; seq++) await ledger.seal();
  return { ...ledger, dataDir };
}

/** The contents of the head files in a data folder, by seq. */
export function headsIn(dataDir: string): { seq: number; hash: string; recoveries: string[] }[] {
  const folder = join(dataDir, "heads");
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")))
    .sort((one, other) => one.seq - other.seq);
}

/**
 * Sets the ledger in the database back to receipt `seq`, as a restored backup does.
 * @returns a function that restores the removed receipts
 */
export async function rewind(db: TestDatabase, seq: number): Promise<() => Promise<void>> {
  const tables = ["receipts", "ledger_days", "ledger_sessions", "ledger_recoveries"];
  const taken = new Map<string, object[]>();
  // A start creates it again.
  await db.rows("DROP TRIGGER IF EXISTS receipts_are_not_deleted");
  for (const table of tables) {
    taken.set(table, await db.rows(`SELECT * FROM ${table} WHERE seq > ? ORDER BY seq`, [seq]));
    await db.rows(`DELETE FROM ${table} WHERE seq > ?`, [seq]);
  }
  const [head] = await db.rows<object>("SELECT * FROM ledger_head");
  await db.rows("UPDATE ledger_head SET seq = ?, hash = (SELECT hash FROM receipts WHERE seq = ?)", [seq, seq]);
  return async () => {
    for (const [table, rows] of taken) for (const row of rows) await db.rows(`INSERT INTO ${table} SET ?`, [row]);
    await db.rows("UPDATE ledger_head SET ?", [head]);
  };
}

export async function storedAt(db: TestDatabase, seq: number): Promise<StoredRow> {
  const [row] = await db.rows<StoredRow>("SELECT * FROM receipts WHERE seq = ?", [seq]);
  return row as StoredRow;
}
