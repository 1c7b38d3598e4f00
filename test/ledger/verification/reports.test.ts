// Which good reports are reused: how many, for how long, and which one is forgotten first.
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import type { Ledger } from "../../../src/ledger/ledger.ts";
import { Reports } from "../../../src/ledger/verification/reports.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { fill, openLedger, sealBook } from "../support.ts";

const never = new AbortController().signal;
const length = 20;
let database: Database;
let ledger: Ledger;
/** The first receipt of each verification that ran. */
const runs: number[] = [];
let reports: Reports;

beforeAll(async () => {
  const db = await createDatabaseWithSchema();
  ({ ledger, database } = await openLedger(db));
  await fill(db, length - 1);
});

beforeEach(() => {
  runs.length = 0;
  reports = new Reports({
    async run(from, signal) {
      runs.push(from);
      return ledger.verifier.verify(signal, from);
    },
  });
});
afterEach(() => void vi.restoreAllMocks());

const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Requests reports one after the other. @returns the first receipts of the verifications that ran for them */
async function verify(...starts: number[]): Promise<number[]> {
  runs.length = 0;
  const head = await ledger.receipts.readHead(database.reader(never));
  for (const start of starts) {
    expect(await reports.get(start, head, never)).toMatchObject({ verifyOk: true, from: start, to: head.seq });
  }
  return [...runs];
}

it("16 reports are cached, and the oldest is forgotten first", async () => {
  expect(await verify(...from(1, 16))).toEqual(from(1, 16));
  expect(await verify(...from(1, 16))).toEqual([]);
  expect(await verify(17)).toEqual([17]);
  expect(await verify(...from(2, 17))).toEqual([]);
  // Reuse has not made reports newer.
  expect(await verify(1)).toEqual([1]);
  expect(await verify(2)).toEqual([2]);
  expect(await verify(...from(4, 17), 1)).toEqual([]);
});

it("a report that was made again is the newest", async () => {
  await verify(...from(1, 16));
  await sealBook(ledger, "made again", "2026-01-05");
  expect(await verify(1)).toEqual([1]);
  expect(await verify(17)).toEqual([17]);
  expect(await verify(1, 17)).toEqual([]);
  expect(await verify(18)).toEqual([18]);
  expect(await verify(1, 17, 18)).toEqual([]);
});

it("a report is reused until it is five seconds old, and says its age", async () => {
  let now = 1_000_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  expect(await verify(1)).toEqual([1]);
  now += 4_999;
  const head = await ledger.receipts.readHead(database.reader(never));
  expect((await reports.get(1, head, never)).ageMs).toBe(4_999);
  expect(await verify(1)).toEqual([]);
  now += 1;
  expect(await verify(1)).toEqual([1]);
  now += 4_999;
  expect(await verify(1)).toEqual([]);
});
