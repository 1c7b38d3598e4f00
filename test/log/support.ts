import { begin } from "../../src/log/beginning.ts";
import { signerOf, treeHasher } from "../../src/log/crypto.ts";
import type { CommittedBatch } from "../../src/log/publisher/extend.ts";
import { Publisher, type PublisherOptions } from "../../src/log/publisher/publisher.ts";
import { Database } from "../../src/store/database/database.ts";
import { advanceLogHead, type LogHead, readLogHead } from "../../src/store/tables/log-head.ts";
import { growLogTile } from "../../src/store/tables/log-tiles.ts";
import { entryBytes } from "../../src/tlog/entries/entry-text.ts";
import { formatSignerKey, type SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { appendToTiles } from "../../src/tlog/tiles/growth.ts";
import { CompactRange } from "../../src/tlog/tree/compact-range.ts";
import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { type Service, type ServiceOptions, startService } from "../support/service.ts";
import { testKey } from "../tlog/node-functions.ts";

export const never = new AbortController().signal;
export const key: SignerKey = await testKey("stoa.example/log");

/** An entry of a later version, which fsck compares with no row. */
export const laterEntry = (n: number): Buffer<ArrayBuffer> =>
  Buffer.from(`{"n":${n},"ts":"2026-01-31T00:00:00.000Z","type":"later","v":1}`);

/** The receipt with this seq, as an entry. */
export function receiptEntry(seq: number): Uint8Array<ArrayBuffer> {
  const hash = seq.toString(16).padStart(64, "0");
  return entryBytes({ type: "receipt", ts: "2026-01-31T00:00:00.000Z", seq, hash });
}

/** A log in a database, which grows as the sequencer makes it grow. */
export class GrowingLog {
  readonly test: TestDatabase;
  readonly db: Database;
  /** Of all its entries. */
  readonly range = new CompactRange(treeHasher);

  static async begin(test?: TestDatabase): Promise<GrowingLog> {
    const log = new GrowingLog(test ?? (await createDatabaseWithSchema()));
    const first = await begin(key, { db: log.db, now: () => 0, hasReplicas: false, signal: never });
    if (first.vkey === "") throw new Error("the log did not begin");
    await log.reload();
    return log;
  }

  constructor(test: TestDatabase) {
    this.test = test;
    // A long log grows in one transaction, which takes a busy server longer than a service would wait.
    this.db = new Database({ address: test.config, connections: 4, timeoutMs: Number.POSITIVE_INFINITY });
    afterFile(() => this.db.close());
  }

  head(): Promise<LogHead> {
    return readLogHead(this.db.reader(never));
  }

  /** Reads the range of the entries that the database has now. */
  async reload(): Promise<void> {
    const rows = await this.test.rows<{ entry: string }>("SELECT entry FROM log_entries ORDER BY idx");
    const range = new CompactRange(treeHasher);
    for (const { entry } of rows) range.append(Buffer.from(entry));
    (this as { range: CompactRange }).range = range;
  }

  /** Appends entries, by default receipts. @returns what the sequencer tells the publisher */
  async grow(
    count: number,
    entryOf: (index: number) => Uint8Array<ArrayBuffer> = receiptEntry,
  ): Promise<CommittedBatch> {
    const head = await this.head();
    const from = head.size;
    const entries = Array.from({ length: count }, (_, at) => entryOf(from + at));
    const growths = appendToTiles(this.range, entries);
    const root = Buffer.from(this.range.root());
    await this.db.transaction(never, async (tx) => {
      await advanceLogHead(tx, head, { ...head, size: this.range.size, root });
      // Some logs have many thousand entries, for which the statements of a service are small.
      for (let at = 0; at < count; at += 4_096) {
        const part = entries.slice(at, at + 4_096);
        const values = part.flatMap((entry, n) => [from + at + n, from + at + n, Buffer.from(entry).toString()]);
        const rows = part.map(() => "(?, 'receipt', ?, ?)").join(", ");
        await tx.run(`INSERT INTO log_entries (idx, item, item_id, entry) VALUES ${rows}`, values);
      }
      for (const growth of growths) await growLogTile(tx, growth);
    });
    return { from, entries };
  }

  /** A publisher that looks only when it is told to; with the key by default. */
  async publisher(path: string, options: Partial<PublisherOptions> = {}): Promise<Publisher> {
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    const publisher = new Publisher({
      db: this.db,
      path,
      key,
      signer: signerOf(key),
      log,
      lookMs: 3_600_000,
      ...options,
    });
    afterFile(() => publisher.stop());
    await publisher.begin(never);
    return publisher;
  }

  /** Makes the database as it was when it had `size` entries, as a restored backup is. It forgets the note, too. */
  async rollBack(size: number, note: { signed: number; note: string | null }): Promise<void> {
    await this.test.rows("DROP TRIGGER IF EXISTS log_entries_are_not_deleted");
    await this.test.rows("DELETE FROM log_entries WHERE idx >= ?", [size]);
    await this.reload();
    const root = Buffer.from(this.range.root());
    await this.test.rows("UPDATE log_head SET size = ?, root = ?, signed = ?, note = ?", [
      size,
      root,
      note.signed,
      note.note,
    ]);
  }
}

/** A service with a log, which begins with its start. */
export function startLogService(options: ServiceOptions = {}): Promise<Service> {
  const boardLog = { mayBegin: true, origin: undefined, keyText: formatSignerKey(key) };
  return startService({ ...options, config: { boardLog, ...options.config } });
}
