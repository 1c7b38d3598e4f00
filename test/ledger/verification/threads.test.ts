import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type ThreadOptions, verifyInThreads } from "../../../src/ledger/verification/threads.ts";
import { startBefore, verifyFrom } from "../../../src/ledger/verification/verification.ts";
import { canonicalize } from "../../../src/receipt/canonical.ts";
import { chainStart, type Link } from "../../../src/receipt/verify.ts";
import type { LooseDocument } from "../../receipt/chain.ts";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { fill, openLedger, type StoredRow, unlockReceipts } from "../support.ts";

/** The receipts are so long that four are read at once. */
const size = 60_000;
const length = 45;
/** The second range of the second thread is not whole. */
const rangeLength = 12;
const never = new AbortController().signal;

/** Fails the test if a thread fails unexpectedly. */
const onFailure = (error: unknown) => {
  throw error;
};

const db = await createDatabaseWithSchema();
await fill(db, length - 1, size);
const { database } = await openLedger(db);
const reader = database.longReader(never);
const always: ThreadOptions = { address: db.config, signal: never, onFailure, minReceipts: 0, rangeLength };
const rows = await db.rows<StoredRow>("SELECT seq, hash, prev_hash, canonical FROM receipts ORDER BY seq");
await unlockReceipts(db);

async function insert(stored: StoredRow[]): Promise<void> {
  for (const { seq, hash, prev_hash, canonical } of stored) {
    await db.rows("INSERT INTO receipts VALUES (?, ?, ?, ?)", [seq, hash, prev_hash, canonical]);
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

/** The chain from receipt `seq` on, after that receipt was changed and all hashes were computed again. */
function rewritten(seq: number, change: (document: LooseDocument) => void): StoredRow[] {
  let hash = rows[seq - 2]?.hash ?? "0".repeat(64);
  return rows.slice(seq - 1).map((row) => {
    const document: LooseDocument = JSON.parse(row.canonical.toString("utf8"));
    const prev_hash = hash;
    Object.assign(document, { prev_hash, body: { ...document.body, head: prev_hash } });
    if (row.seq === seq) change(document);
    const canonical = Buffer.from(canonicalize(document));
    hash = sha256(canonical);
    return { ...row, canonical, prev_hash, hash };
  });
}

async function startAt(from: number): Promise<Link> {
  const start = await startBefore(reader, from);
  if ("fault" in start) throw new Error(start.message);
  return start;
}

describe("verification in threads", () => {
  it.each([
    ["each thread meets one", 1, [20, 30]],
    ["it is the last, in a range that is not whole", 8, [length]],
  ])("has the same result as one thread if receipts are bad: %s", async (_, from, seqs) => {
    const good = rows.filter(({ seq }) => seqs.includes(seq));
    const bad = good.map((row) => ({ ...row, canonical: Buffer.from(`${row.canonical} `) }));
    await withRows(bad, good, async () => {
      const result = await verifyInThreads(reader, await startAt(from), always);
      expect(result).toMatchObject({ finding: { seq: seqs[0], fault: "wrong_hash" } });
      expect(result).toEqual(await verifyFrom(reader, await startAt(from)));
    });
  });

  // What one range hands over to the next, and what is known of the whole chain.
  it.each<[fault: string, change: (document: LooseDocument) => void]>([
    ["wrong_ts", (document) => Object.assign(document, { ts: "2025-12-31T23:59:59.999Z" })],
    [
      "wrong_recovery",
      ({ body }) => Object.assign(body, { type: "recovery", abandoned_seq: 1, abandoned_hash: rows[0]?.hash }),
    ],
  ])("finds %s where a range begins", async (fault, change) => {
    const seq = rangeLength + 1;
    await withRows(rewritten(seq, change), rows.slice(seq - 1), async () => {
      const result = await verifyInThreads(reader, chainStart, always);
      expect(result).toMatchObject({ finding: { seq, fault }, count: seq - 1, link: { seq: seq - 1 } });
      expect(result).toEqual(await verifyFrom(reader, chainStart));
    });
  });

  it("verifies a good chain", async () => {
    const link = { seq: length, hash: rows.at(-1)?.hash, ts: expect.any(String) };
    expect(await verifyInThreads(reader, chainStart, always)).toEqual({ count: length, finding: undefined, link });
  });

  const program = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`);

  it.each([
    ["throws later", program("await new Promise(setImmediate); throw new Error('later')"), /later/],
    ["takes all memory", program("const all = []; for (;;) all.push(new Array(1e5).fill({}));"), /memory/],
    ["ends by itself", program("process.exit(0)"), undefined],
    [
      "finds what is not wrong",
      program("(await import('node:worker_threads')).parentPort.postMessage(undefined)"),
      undefined,
    ],
  ])("has the same result if a thread %s, and reports failures", async (_, failing, message) => {
    const good = rows[29] as StoredRow;
    const failures: unknown[] = [];
    await withRows([withDocument(good, (text) => `${text} `)], [good], async () => {
      const options = { ...always, program: failing, onFailure: (error: unknown) => failures.push(error) };
      expect(await verifyInThreads(reader, chainStart, options)).toMatchObject({ finding: { seq: 30 }, count: 29 });
    });
    const expected = expect.objectContaining({ message: expect.stringMatching(message ?? "") });
    expect(failures).toEqual(message === undefined ? [] : [expected]);
  });

  it("has the same result if the threads cannot reach the database", async () => {
    const failures: unknown[] = [];
    const address = { ...db.config, socketPath: undefined, host: "127.0.0.1", port: 9 } as never;
    const options = { ...always, address, onFailure: (error: unknown) => failures.push(error) };
    expect(await verifyInThreads(reader, chainStart, options)).toMatchObject({ count: length, finding: undefined });
    expect(failures).toHaveLength(1);
  });

  it("ends its threads when it is cancelled, even busy ones", async () => {
    const leaving = new AbortController();
    // It says that it runs, and never ends.
    const busy = program('new BroadcastChannel("busy").postMessage("begun"); for (;;);');
    const heard = new Promise((resolve) => {
      const channel = new BroadcastChannel("busy");
      channel.onmessage = () => resolve(channel.close());
    });
    const options = { ...always, program: busy, signal: leaving.signal };
    const verifying = verifyInThreads(database.longReader(leaving.signal), chainStart, options);
    await heard;
    leaving.abort(new Error("left"));
    await expect(verifying).rejects.toThrow("left");
  });
});
