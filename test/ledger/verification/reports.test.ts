// Which good reports are reused: for how long, and for which parts of the chain.
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import type { Ledger } from "../../../src/ledger/ledger.ts";
import { Reports } from "../../../src/ledger/verification/reports.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { fill, openLedger, sealBook } from "../support.ts";

const never = new AbortController().signal;
let database: Database;
let ledger: Ledger;
/** The first receipt of each verification that ran. */
const runs: number[] = [];
let reports: Reports;

beforeAll(async () => {
  const db = await createDatabaseWithSchema();
  ({ ledger, database } = await openLedger(db));
  await fill(db, 19);
});

beforeEach(() => {
  reports = new Reports({
    async run(from, signal) {
      runs.push(from);
      return ledger.verifier.verify(signal, from);
    },
  });
});
afterEach(() => void vi.restoreAllMocks());

const readHead = () => ledger.receipts.readHead(database.reader(never));

/** Requests reports one after the other. @returns the first receipts of the verifications that ran for them */
async function verify(...starts: number[]): Promise<number[]> {
  runs.length = 0;
  const head = await readHead();
  for (const from of starts) {
    const report = await reports.get(from, head, never);
    expect(report).toMatchObject({ verifyOk: true, from, to: head.seq, count: head.seq - from + 1, head: head.hash });
  }
  return [...runs];
}

it("a report holds for the part of the chain that it is about, and for every later one", async () => {
  expect(await verify(5, 5, 6, 20)).toEqual([5]);
  expect(await verify(4, 5, 4)).toEqual([4]);
  expect(await verify(1, 20, 4, 1)).toEqual([1]);
});

it("a report does not hold any more when a receipt was sealed", async () => {
  expect(await verify(1)).toEqual([1]);
  await sealBook(ledger, "sealed since", "2026-01-05");
  expect(await verify(2, 1, 2)).toEqual([2, 1]);
});

it("who waits for the verification of more gets its report", async () => {
  runs.length = 0;
  const head = await readHead();
  const all = await Promise.all([1, 7, 7, 20].map((from) => reports.get(from, head, never)));
  expect(all.map(({ from, count }) => [from, count])).toEqual([1, 7, 7, 20].map((from) => [from, head.seq - from + 1]));
  expect(runs).toEqual([1]);
});

it("a report is reused until it is five seconds old, and says its age", async () => {
  let now = 1_000_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  expect(await verify(1)).toEqual([1]);
  now += 4_999;
  expect((await reports.get(3, await readHead(), never)).ageMs).toBe(4_999);
  expect(await verify(1)).toEqual([]);
  now += 1;
  expect(await verify(1)).toEqual([1]);
  now += 4_999;
  expect(await verify(1)).toEqual([]);
});
