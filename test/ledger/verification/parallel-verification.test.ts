import { createHash } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type ParallelOptions, verifyInParallel } from "../../../src/ledger/verification/parallel-verification.ts";
import {
  firstBatchSize,
  maxBatchSize,
  nextBatchSize,
  startBefore,
  verifyFrom,
} from "../../../src/ledger/verification/verification.ts";
import { chainStart } from "../../../src/receipt/verify.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { buildChain, type Change } from "../../receipt/chain.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../../support/database.ts";
import { fill, openLedger, type StoredRow, unlockReceipts } from "../support.ts";

const length = 120;
const never = new AbortController().signal;

let db: TestDatabase;
let database: Database;
let reader: Queryable;
let rows: StoredRow[];
beforeAll(async () => {
  db = await createDatabaseWithSchema();
  await fill(db, length - 1);
  ({ database } = await openLedger(db));
  reader = database.longReader(never);
  rows = await db.rows<StoredRow>("SELECT seq, hash, prev_hash, canonical FROM receipts ORDER BY seq");
  await unlockReceipts(db);
});

/** Fails the test if a thread fails unexpectedly. */
const onFailure = (error: unknown) => {
  throw error;
};
const small: ParallelOptions = { signal: never, onFailure, threads: 2, minReceipts: 0, maxBatchSize: 7 };

async function insert(stored: StoredRow[]): Promise<void> {
  for (let begin = 0; begin < stored.length; begin += 100) {
    const batch = stored.slice(begin, begin + 100);
    const values = batch.map(() => "(?, ?, ?, ?)").join(", ");
    const params = batch.flatMap(({ seq, hash, prev_hash, canonical }) => [seq, hash, prev_hash, canonical]);
    await db.rows(`INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES ${values}`, params);
  }
}

/** Replaces good rows with others while `work` runs. */
async function withRows<T>(stored: StoredRow[], good: StoredRow[], work: () => Promise<T>): Promise<T> {
  await remove(good);
  await insert(stored);
  try {
    return await work();
  } finally {
    await remove(stored);
    await insert(good);
  }
}

async function remove(stored: StoredRow[]): Promise<void> {
  if (stored.length > 0) await db.rows("DELETE FROM receipts WHERE seq IN (?)", [stored.map(({ seq }) => seq)]);
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const withDocument = (row: StoredRow, change: (text: string) => string): StoredRow => {
  const canonical = Buffer.from(change(row.canonical.toString("utf8")));
  return { ...row, canonical, hash: sha256(canonical) };
};

/** Ways to break one row. Each returns the rows in its place. */
const defects: { [name: string]: (row: StoredRow) => StoredRow | undefined } = {
  removed: () => undefined,
  "another hash": (row) => ({ ...row, hash: sha256(row.canonical.subarray(1)) }),
  "a short hash": (row) => ({ ...row, hash: "short" }),
  "another prev_hash": (row) => ({ ...row, prev_hash: sha256(row.canonical.subarray(2)) }),
  "a changed byte": (row) => ({ ...row, canonical: Buffer.from(row.canonical.toString().replace("feed:", "feef:")) }),
  "a changed byte, its hash computed anew": (row) => withDocument(row, (text) => text.replace("feed:", "feef:")),
  "white space": (row) => withDocument(row, (text) => `${text} `),
  "an older time": (row) => withDocument(row, (text) => text.replace(/"ts":"\d{4}/, '"ts":"1999')),
  "a wrong count": (row) => withDocument(row, (text) => text.replace(/"count":\d+/, '"count":7777777')),
  "no JSON": (row) => withDocument(row, () => "no JSON"),
  "no bytes": (row) => withDocument(row, () => ""),
};

describe("verification in threads", () => {
  it("has the same result as one thread, whatever is broken and in however many places", async () => {
    const breaks = fc.array(
      fc.record({ seq: fc.integer({ min: 1, max: length }), defect: fc.constantFrom(...Object.keys(defects)) }),
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(
        breaks,
        fc.oneof(fc.constant(1), fc.integer({ min: 1, max: length })),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 3 }),
        async (broken, from, maxBatchSize, threads) => {
          const good = rows.filter((row) => broken.some(({ seq }) => seq === row.seq));
          const stored = good.flatMap((row) => {
            const changed = broken
              .filter(({ seq }) => seq === row.seq)
              .reduce<StoredRow | undefined>((each, { defect }) => each && defects[defect]?.(each), row);
            return changed === undefined ? [] : [changed];
          });
          await withRows(stored, good, async () => {
            const start = await startBefore(reader, from);
            if ("fault" in start) return;
            const expected = await verifyFrom(reader, start);
            expect(await verifyInParallel(reader, start, { ...small, maxBatchSize, threads })).toEqual(expected);
          });
        },
      ),
      { numRuns: 12 },
    );
  });

  it("finds an earlier time and every other defect, wherever a batch begins", async () => {
    const changes: NonNullable<Change["document"]>[] = [
      (document) => {
        document.ts = "2025-12-31T23:59:59.999Z";
      },
      (document) => {
        document.body.head = "0".repeat(64);
      },
      (document) => {
        document.body = { ...document.body, type: "genesis", note: "" };
      },
      (document) => {
        const [genesis] = buildChain(1);
        document.body = {
          ...document.body,
          type: "recovery",
          note: "",
          abandoned_seq: 1,
          abandoned_hash: genesis?.hash,
        };
      },
    ];
    for (const document of changes) {
      // The last receipt of a batch, and the first two of the next one.
      for (const seq of [4, 5, 6]) {
        const stored = buildChain(30, { [seq]: { document } }).map(({ prevHash, bytes, ...rest }) => ({
          ...rest,
          prev_hash: prevHash,
          canonical: Buffer.from(bytes),
        }));
        await withRows(stored, rows, async () => {
          const expected = await verifyFrom(reader, chainStart);
          expect(expected.finding?.seq).toBe(seq);
          expect(await verifyInParallel(reader, chainStart, { ...small, maxBatchSize: 4 })).toEqual(expected);
        });
      }
    }
  });

  it("finds the end of a chain whose documents have wrong seqs, wherever a batch begins", async () => {
    for (const count of [1, 3, 4]) {
      const good = rows.slice(-count);
      const moved = good.map((row) => ({ ...row, seq: row.seq + 1 }));
      await withRows(moved, good, async () => {
        const expected = await verifyFrom(reader, chainStart);
        expect(expected.finding).toMatchObject({ seq: length - count + 1, fault: "gap" });
        expect(await verifyInParallel(reader, chainStart, { ...small, maxBatchSize: 4 })).toEqual(expected);
      });
    }
  });

  it("reads a good chain once", async () => {
    const read: number[] = [];
    const counting: Queryable = {
      rows: async <Row>(sql: string, params?: readonly (string | number | Buffer | null)[]) => {
        const found = await reader.rows<Row>(sql, params);
        if (sql.includes("ORDER BY seq")) read.push(found.length);
        return found;
      },
    };
    const { link, count, finding } = await verifyInParallel(counting, chainStart, { ...small, maxBatchSize: 20 });
    expect({ link, count, finding }).toEqual({
      link: { seq: length, hash: rows.at(-1)?.hash, ts: expect.any(String) },
      count: length,
      finding: undefined,
    });
    // Less than a page is read twice: the last page, which was not full.
    expect(read.reduce((sum, each) => sum + each, 0)).toBeLessThan(length + 2 * 20);
  });

  const program = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`);
  const onMessage = (text: string) =>
    program(`import { parentPort } from "node:worker_threads"; parentPort.on("message", (page) => { ${text} });`);

  it.each([
    ["throws at once", program("throw new Error('at once')"), /at once/],
    ["throws at a page", onMessage("throw new Error('at a page')"), /at a page/],
    ["ends by itself", onMessage("process.exit(0)"), /ended by itself \(0\)/],
    ["takes all memory", onMessage("const all = []; for (;;) all.push(new Array(1e5).fill({}));"), /memory/],
    ["is not there", new URL("./nowhere.ts", import.meta.url), /Cannot find module/],
  ])("has the same result if a thread %s, and reports that", async (_, failing, message) => {
    const broken = withDocument(rows[99] as StoredRow, (text) => `${text} `);
    const failures: unknown[] = [];
    await withRows([broken], [rows[99] as StoredRow], async () => {
      const expected = await verifyFrom(reader, chainStart);
      const options = { ...small, program: failing, onFailure: (error: unknown) => failures.push(error) };
      expect(await verifyInParallel(reader, chainStart, options)).toEqual(expected);
      expect(expected.finding?.seq).toBe(100);
    });
    expect(failures).toEqual([expect.objectContaining({ message: expect.stringMatching(message) })]);
  });

  it("ends its threads when it is cancelled, even busy ones", async () => {
    const leaving = new AbortController();
    // The first page signals that it was requested, and never ends.
    const busy = onMessage('new BroadcastChannel("busy").postMessage("begun"); for (;;);');
    const heard = new Promise((resolve) => {
      const channel = new BroadcastChannel("busy");
      channel.onmessage = () => resolve(channel.close());
    });
    const options = { ...small, program: busy, signal: leaving.signal };
    const verifying = verifyInParallel(database.longReader(leaving.signal), chainStart, options);
    await heard;
    leaving.abort(new Error("left"));
    await expect(verifying).rejects.toThrow("left");
  });

  it("does not begin when it is cancelled before", async () => {
    const signal = AbortSignal.abort(new Error("left"));
    await expect(verifyInParallel(reader, chainStart, { ...small, signal })).rejects.toThrow("left");
  });

  it("starts no thread for a short chain", async () => {
    const options = { ...small, minReceipts: length + 1, program: new URL("./nowhere.ts", import.meta.url) };
    expect((await verifyInParallel(reader, chainStart, options)).count).toBe(length);
  });
});

describe("the size of a batch", () => {
  it("follows the length of the receipts", () => {
    const page = (count: number, size: number) =>
      Array.from({ length: count }, () => ({ seq: 1, hash: "", prev_hash: "", canonical: Buffer.alloc(size) }));
    expect(nextBatchSize(page(16, 700))).toBe(maxBatchSize);
    expect(nextBatchSize(page(500, 0))).toBe(maxBatchSize);
    expect(nextBatchSize(page(16, 4_096))).toBe(128);
    expect(nextBatchSize(page(500, 65_536))).toBe(firstBatchSize);
    expect(nextBatchSize(page(16, 700), 20)).toBe(20);
  });
});
