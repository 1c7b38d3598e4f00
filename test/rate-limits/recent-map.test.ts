import { describe, expect, it } from "vitest";
import { RecentMap } from "../../src/rate-limits/recent-map.ts";

const keysOf = (map: RecentMap<string, number>, names: string) =>
  [...names].filter((name) => map.get(name) !== undefined);

function fill(capacity: number, names: string): RecentMap<string, number> {
  const map = new RecentMap<string, number>(capacity);
  [...names].forEach((name, index) => {
    map.set(name, index);
  });
  return map;
}

describe("a map of recent entries", () => {
  it("forgets the older half when the newer one is full", () => {
    expect(fill(4, "abcd").size).toBe(4);
    const map = fill(4, "abcde");
    expect(map.size).toBe(3);
    expect(map.get("a")).toBeUndefined();
    expect(map.get("b")).toBeUndefined();
    expect(map.get("c")).toBe(2);
  });

  it("keeps an entry that was read", () => {
    const map = fill(4, "abc");
    expect(map.get("a")).toBe(0);
    expect(map.size).toBe(3);
    map.set("d", 3);
    expect(map.get("b")).toBeUndefined();
    expect(map.get("a")).toBe(0);
  });

  it("forgets nothing when an entry of the full half changes", () => {
    const map = fill(4, "abcd");
    map.set("d", 7);
    expect(map.size).toBe(4);
    expect(map.get("d")).toBe(7);
    expect(map.get("a")).toBe(0);
  });

  it("holds one entry at least, in each half", () => {
    for (const capacity of [0, 1, 2, 3]) {
      const map = fill(capacity, "abc");
      expect(map.size).toBe(2);
      expect(map.get("c")).toBe(2);
    }
  });

  it("deletes an entry from either half", () => {
    const map = fill(4, "abc");
    map.delete("a");
    map.delete("c");
    map.delete("nothing");
    expect(map.size).toBe(1);
    expect(keysOf(map, "abc")).toEqual(["b"]);
  });
});
