import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { HeadWatch } from "../../../src/ledger/reading/head-watch.ts";
import { openLedger, sealBook, startLedger } from "../support.ts";

it("a follower's signal keeps no listener after a wait, however many receipts come", async () => {
  const service = await startLedger();
  const { ledger, database } = await openLedger(service.db);
  const watch = new HeadWatch(database.longReader(new AbortController().signal));
  const follower = new AbortController();
  const listeners = () => getEventListeners(follower.signal, "abort").length;
  let seen = 0;
  for (let count = 0; count < 20; count++) {
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
  const service = await startLedger();
  const { database } = await openLedger(service.db);
  const watch = new HeadWatch(database.longReader(new AbortController().signal));
  const followers = Array.from({ length: 40 }, () => new AbortController().signal);
  await database.close();
  const outcomes = await Promise.allSettled(followers.map((signal) => watch.beyond(0, signal)));
  expect(outcomes.map(({ status }) => status)).toEqual(followers.map(() => "rejected"));
  expect(followers.flatMap((signal) => getEventListeners(signal, "abort"))).toEqual([]);
});
