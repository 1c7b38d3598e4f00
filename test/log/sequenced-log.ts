import { expect } from "vitest";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { type AnyEntry, beginTestLog, faultsOfLog } from "../support/log.ts";

export const entryText = (id: number): string =>
  `{"content":"${"ab".repeat(32)}","id":${id},"of":"comment","ts":"2026-03-14T09:26:53.589Z","type":"edit","v":1}`;

export const idsOf = (entries: AnyEntry[]) => entries.filter(({ type }) => type === "edit").map(({ id }) => id);
export const upTo = (n: number): number[] => Array.from({ length: n }, (_, at) => at + 1);

/** Runs a sequencer that may have to wait before it takes over. */
export const runUntil = (run: () => Promise<void>, isDone: () => Promise<boolean>): Promise<void> =>
  expect.poll(() => run().then(isDone, isDone), { interval: 20 }).toBe(true);

/** A database with a log, whose outbox a test fills. */
export class SequencedLog {
  readonly db: TestDatabase;
  readonly key: SignerKey;
  /** How many entries have been added to the outbox. Their ids count from 1. */
  written = 0;

  private constructor(db: TestDatabase, key: SignerKey) {
    this.db = db;
    this.key = key;
  }

  static async begin(): Promise<SequencedLog> {
    const db = await createDatabaseWithSchema();
    return new SequencedLog(db, await beginTestLog(db));
  }

  /** Adds entries to the outbox, in transactions of at most 500. */
  async write(count: number): Promise<void> {
    for (let done = 0; done < count; done += 500) {
      const length = Math.min(500, count - done);
      const rows = Array.from({ length }, () => ["comment", ++this.written, entryText(this.written)]);
      await this.db.pool.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ?", [rows]);
    }
  }

  async head(): Promise<{ size: number; signed: number }> {
    const [head] = await this.db.rows<{ size: number; signed: number }>("SELECT size, signed FROM log_head");
    if (head === undefined) throw new Error("the log has no head");
    return head;
  }

  /** The number of rows in the outbox. */
  async waiting(): Promise<number | undefined> {
    return (await this.db.rows<{ n: number }>("SELECT COUNT(*) AS n FROM log_outbox"))[0]?.n;
  }

  readonly isPublished = async (): Promise<boolean> => {
    const { size, signed } = await this.head();
    return size === signed && (await this.waiting()) === 0;
  };

  faults() {
    return faultsOfLog(this.db, { isImported: false });
  }
}
