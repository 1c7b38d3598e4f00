// Fills the ledger's own database, once. A marker row, written last, says that it is complete.
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { dateOf, dayMs } from "../../src/ledger/calendar.ts";
import { Database } from "../../src/store/database/database.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { isSeeded, openServer, recreate } from "../seed-database.ts";
import { epochOf, type MadeReceipt, makeChain } from "./chain.ts";

/** To be raised when the chain changes. */
const seedVersion = 1;
const rowsPerStatement = 1_000;

export interface ChainOptions {
  address: DatabaseConfig;
  receipts: number;
  /** Drop what is there. */
  anew: boolean;
  log(line: string): void;
}

/** Makes sure that the database holds a chain of so many receipts, and is in memory. */
export async function ensureChain({ address, receipts, anew, log }: ChainOptions): Promise<void> {
  await using server = openServer(address);
  const usable = !anew && (await isSeeded(server.pool, address, { version: seedVersion, posts: receipts }));
  if (!usable) await recreate(server.pool, address.database);
  const db = new Database({ address, connections: 2 });
  await migrate(db, { log }).finally(() => db.close());

  const pool = createPool({ ...address, connectionLimit: 1 });
  try {
    if (!usable) {
      await fillChain(pool, receipts, log);
      await pool.query("CREATE TABLE bench_seed (version INT PRIMARY KEY, posts INT NOT NULL)");
      await pool.query("INSERT INTO bench_seed VALUES (?, ?)", [seedVersion, receipts]);
    }
    const [heads] = await pool.query<RowDataPacket[]>("SELECT seq FROM ledger_head");
    if (heads[0]?.seq !== receipts) throw new Error(`The chain has ${heads[0]?.seq} receipts; run with --reseed.`);
    await postponeDays(pool);
    await pool.query("SELECT COUNT(*) FROM receipts FORCE INDEX (PRIMARY) WHERE canonical = ''");
  } finally {
    await pool.end();
  }
}

/** No day is due while the bench runs: a daily seal would make the chain longer, for good. */
export async function postponeDays(pool: Pool): Promise<void> {
  await pool.query("UPDATE ledger_epoch SET first_day = ?", [dateOf(Date.now() + dayMs)]);
}

/** Stores a chain of so many receipts in an empty ledger. */
export async function fillChain(pool: Pool, receipts: number, log: (line: string) => void): Promise<void> {
  const started = Date.now();
  let reportedAt = started;
  let batch: MadeReceipt[] = [];
  let last: MadeReceipt | undefined;
  let storing = Promise.resolve();
  // One portion is made here while the server stores the one before.
  const flush = async () => {
    await storing;
    storing = store(pool, batch);
    storing.catch(() => {}); // thrown by the next await
    batch = [];
  };
  for await (const made of makeChain(receipts, started)) {
    batch.push(made);
    last = made;
    if (batch.length === rowsPerStatement) await flush();
    if (Date.now() - reportedAt > 5_000) {
      reportedAt = Date.now();
      log(`seeding: ${made.row.seq.toLocaleString("en")} of ${receipts.toLocaleString("en")} receipts`);
    }
  }
  if (batch.length > 0) await flush();
  await storing;
  const { row, ts } = last as MadeReceipt;
  await pool.query("UPDATE ledger_head SET seq = ?, hash = ?, ts = ?", [row.seq, row.hash, ts]);
  await pool.query("INSERT INTO ledger_epoch (id, epoch, first_day) VALUES (1, ?, ?)", [
    epochOf(started),
    epochOf(started),
  ]);
  await pool.query("ANALYZE TABLE receipts, ledger_sessions");
  log(`sealed ${receipts.toLocaleString("en")} receipts in ${((Date.now() - started) / 1000).toFixed(0)} s`);
}

async function store(pool: Pool, batch: MadeReceipt[]): Promise<void> {
  const rows = batch.map(
    ({ row: { seq, hash, prev_hash, canonical } }) =>
      `(${seq}, '${hash}', '${prev_hash}', x'${canonical.toString("hex")}')`,
  );
  await pool.query(`INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES ${rows.join(",")}`);
  const sessions = batch.flatMap(({ row, session }) =>
    session === undefined ? [] : [`('${session.book}', '${session.session}', ${row.seq})`],
  );
  await pool.query(`INSERT INTO ledger_sessions (book, session, seq) VALUES ${sessions.join(",")}`);
}
