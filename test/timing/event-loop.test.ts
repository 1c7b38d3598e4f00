import { expect, test } from "vitest";
import { forEachInBatches } from "../../src/timing/event-loop.ts";

test("forEachInBatches handles all items in order, and lets the event loop run after each 32", async () => {
  const items = Array.from({ length: 70 }, (_, index) => index);
  const handled: number[] = [];
  const handling = forEachInBatches(items, (item) => handled.push(item));
  expect(handled).toEqual(items.slice(0, 32));
  await new Promise(setImmediate);
  expect(handled).toEqual(items.slice(0, 64));
  await handling;
  expect(handled).toEqual(items);
});
