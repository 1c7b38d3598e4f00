import { getEventListeners } from "node:events";
import { expect, it, onTestFinished, vi } from "vitest";
import { HeadWatch } from "../../../src/ledger/reading/head-watch.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { openLedger, sealBook } from "../support.ts";

const never = new AbortController().signal;

it("a follower's signal keeps no listener after a wait, however many receipts come", async () => {
  const { ledger, database } = await openLedger(await createDatabaseWithSchema());
  const watch = new HeadWatch(database.longReader(never));
  const follower = new AbortController();
  const listeners = () => getEventListeners(follower.signal, "abort").length;
  let seen = 0;
  for (let count = 0; count < 5; count++) {
    const next = watch.beyond(seen, follower.signal);
    expect(listeners()).toBe(1);
    if (seen > 0) {
      await sealBook(ledger, `book ${count}`, "2026-01-05");
      watch.notify();
    }
    const newest = await next;
    expect(newest).toBeGreaterThan(seen);
    expect(listeners()).toBe(0);
    seen = newest;
  }
  const last = watch.beyond(seen, follower.signal);
  follower.abort(new Error("gone"));
  await expect(last).rejects.toThrow("gone");
  expect(listeners()).toBe(0);
});

it("every follower receives a failure of the database, and no listener is left", async () => {
  const { database } = await openLedger(await createDatabaseWithSchema());
  const watch = new HeadWatch(database.longReader(never));
  const followers = Array.from({ length: 40 }, () => new AbortController().signal);
  await database.close();
  const outcomes = await Promise.allSettled(followers.map((signal) => watch.beyond(0, signal)));
  expect(outcomes.map(({ status }) => status)).toEqual(followers.map(() => "rejected"));
  expect(followers.flatMap((signal) => getEventListeners(signal, "abort"))).toEqual([]);
});

it("the head is read for all followers together, and only while one waits", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let reads = 0;
  const db: Queryable = {
    rows: async <Row>() => {
      reads += 1;
      return [{ seq: 1, hash: "a".repeat(64), ts: 0 }] as Row[];
    },
  };
  const watch = new HeadWatch(db);
  const leave = new AbortController();
  const waits = Array.from({ length: 10 }, () => watch.beyond(1, leave.signal).catch(() => "left"));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(reads).toBeGreaterThan(4);
  expect(reads).toBeLessThan(20);
  leave.abort();
  expect(new Set(await Promise.all(waits))).toEqual(new Set(["left"]));
  await vi.advanceTimersByTimeAsync(1_000);
  const before = reads;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reads).toBe(before);
});
