// Calls that wait for a connection: in their order, not for ever, and not any number of them.
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { parties } from "../../../src/timing/parties.ts";
import { waitUntil } from "../../support/wait.ts";
import { createRows, failure, longMs, read, resetRows, timeoutMs, unavailable } from "./rows.ts";

const test = await createRows();
beforeEach(() => resetRows(test));

/** A database with one connection for reads, which a read holds until `release` is called. */
async function occupied(
  limitMs: number,
): Promise<{ db: Database; holder: Promise<unknown>; release(): Promise<void> }> {
  const db = new Database({ address: test.config, connections: 4, timeoutMs: limitMs });
  const lock = await test.pool.getConnection();
  await lock.query("LOCK TABLES t WRITE");
  onTestFinished(async () => {
    // A lock that the test has not released ends with its connection.
    lock.destroy();
    await db.close();
  });
  const holder = read(db);
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  holder.then(end, end);
  // On a busy machine, a short limit may end the read before it is seen.
  await waitUntil("the read to wait for the table", async () => {
    const rows = await test.rows<{ db: string | null; State: string | null }>("SHOW FULL PROCESSLIST");
    return isOver || rows.some((row) => row.db === test.config.database && /lock/i.test(row.State ?? ""));
  });
  return { db, holder, release: async () => void (await lock.query("UNLOCK TABLES")) };
}

it("calls get a connection in the order in which they came", async () => {
  const { db, holder, release } = await occupied(longMs);
  const order: number[] = [];
  const calls = [1, 2, 3, 4, 5].map((number) => read(db).then(() => order.push(number)));
  await waitUntil("the calls to wait", () => db.load.waiting === 5);
  await release();
  await Promise.all([holder, ...calls]);
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(db.load).toEqual({ inUse: 0, waiting: 0 });
});

/** A signal of a call for this agent or address. */
function signalOf(party: string): AbortSignal {
  const { signal } = new AbortController();
  parties.set(signal, party);
  return signal;
}

it("parties take turns, however many calls of one wait", async () => {
  const { db, holder, release } = await occupied(longMs);
  const order = { reads: "", writes: "" };
  const gate = Promise.withResolvers<void>();
  const writing = db.transaction(signalOf("a"), () => gate.promise);
  const calls = [..."aaaaaaaabbc"].flatMap((party) => [
    read(db, signalOf(party)).then(() => {
      order.reads += party;
    }),
    db.transaction(signalOf(party), async () => {
      order.writes += party;
    }),
  ]);
  await waitUntil("the calls to wait", () => db.load.waiting === calls.length);
  gate.resolve();
  await release();
  await Promise.all([holder, writing, ...calls]);
  expect(order).toEqual({ reads: "abcabaaaaaa", writes: "abcabaaaaaa" });
});

it("a call that leaves, or whose time is over, waits no longer", async () => {
  const { db, holder, release } = await occupied(longMs);
  const leaving = new AbortController();
  const left = failure(read(db, leaving.signal));
  const next = read(db);
  leaving.abort(new Error("given up"));
  expect(await left).toMatchObject({ message: "given up" });
  expect(db.load.waiting).toBe(1);
  await release();
  await Promise.all([holder, next]);

  const short = await occupied(timeoutMs);
  expect(await failure(read(short.db))).toMatchObject(unavailable);
  expect(short.db.load.waiting).toBe(0);
});

it("so many calls may wait that the memory does not fill; further ones fail at once", async () => {
  const { db, holder, release } = await occupied(longMs);
  const calls = Array.from({ length: 5_000 }, () => read(db));
  expect(db.load.waiting).toBe(5_000);
  expect(await failure(read(db))).toMatchObject({ ...unavailable, message: "Too many calls wait for the database." });
  await release();
  await Promise.all([holder, ...calls]);
});

it("a database that closes refuses the calls that wait", async () => {
  const { db, holder } = await occupied(longMs);
  const calls = [failure(read(db)), failure(holder)];
  await waitUntil("the call to wait", () => db.load.waiting === 1);
  await db.close();
  for (const error of await Promise.all(calls)) expect(error).toMatchObject(unavailable);
  expect(await failure(read(db))).toMatchObject({ ...unavailable, message: "The service is stopping." });
});
