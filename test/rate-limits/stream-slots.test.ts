import { beforeEach, expect, it } from "vitest";
import { Counts } from "../../src/rate-limits/counts.ts";
import { defaultStreamLimits } from "../../src/rate-limits/stream-limits.ts";
import { StreamSlots } from "../../src/rate-limits/stream-slots.ts";

const address = "192.0.2.1";
let slots: StreamSlots;

beforeEach(() => {
  slots = new StreamSlots({ ...defaultStreamLimits, total: 3, perAddress: 2, perAgent: 1 });
});

it("an agent has its streams, and another agent has its own", () => {
  expect(slots.take(1, undefined)).toBeUndefined();
  expect(slots.take(1, undefined)).toBe("perAgent");
  expect(slots.take(2, undefined)).toBeUndefined();
});

it("an address has its streams, and another address has its own", () => {
  expect(slots.take(undefined, address)).toBeUndefined();
  expect(slots.take(undefined, address)).toBeUndefined();
  expect(slots.take(undefined, address)).toBe("perAddress");
  expect(slots.take(undefined, "192.0.2.2")).toBeUndefined();
});

it("a stream that counts for nobody counts in the total", () => {
  for (let i = 0; i < 3; i++) expect(slots.take(undefined, undefined)).toBeUndefined();
  expect(slots.take(undefined, undefined)).toBe("total");
  slots.release(undefined, undefined);
  expect(slots.take(undefined, undefined)).toBeUndefined();
  expect(slots.take(undefined, undefined)).toBe("total");
});

it("a stream counts for an agent and an address at once, and is refused by the limit of the agent first", () => {
  slots.take(1, address);
  slots.take(2, address);
  expect(slots.take(1, address)).toBe("perAgent");
  expect(slots.take(3, address)).toBe("perAddress");
  slots.take(3, "192.0.2.2");
  expect(slots.take(3, address)).toBe("perAgent");
  expect(slots.take(4, address)).toBe("perAddress");
  expect(slots.take(4, "192.0.2.3")).toBe("total");
});

it("a refused stream takes no slot", () => {
  slots.take(1, undefined);
  for (let i = 0; i < 5; i++) slots.take(1, address);
  expect(slots.take(2, address)).toBeUndefined();
  expect(slots.take(3, address)).toBeUndefined();
});

it("a released slot is free again, and only that one", () => {
  slots.take(1, address);
  slots.take(2, address);
  slots.release(1, address);
  expect(slots.take(2, undefined)).toBe("perAgent");
  expect(slots.take(1, address)).toBeUndefined();
  expect(slots.take(3, address)).toBe("perAddress");
});

it("holders are counted one by one, and those without streams are forgotten", () => {
  const counts = new Counts<string>();
  counts.add("a");
  counts.add("a");
  counts.add("b");
  expect([counts.of("a"), counts.of("b"), counts.of("c"), counts.size]).toEqual([2, 1, 0, 2]);
  counts.remove("a");
  expect([counts.of("a"), counts.size]).toEqual([1, 2]);
  counts.remove("a");
  expect([counts.of("a"), counts.size]).toEqual([0, 1]);
});
