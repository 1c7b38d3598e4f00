import { describe, expect, it } from "vitest";
import { HeldMemory } from "../../../src/http/port/held-memory.ts";

describe("the budget of all kinds of memory that clients make the service hold", () => {
  /** Checks kinds once. @returns what each holds afterwards */
  function checked(max: number, kinds: readonly { held: number; max: number }[]): number[] {
    const memory = new HeldMemory(max);
    const added = kinds.map(({ held, max: maxBytes }) => ({
      maxBytes,
      heldBytes: held,
      shrinkTo(bytes: number) {
        this.heldBytes = bytes;
      },
    }));
    for (const each of added) memory.add(each);
    memory.check();
    return added.map(({ heldBytes }) => heldBytes);
  }

  it("lets one kind fill it while the others hold nothing", () => {
    const kinds = [
      { held: 80, max: 80 },
      { held: 0, max: 20 },
    ];
    expect(checked(80, kinds)).toEqual([80, 0]);
  });

  it("shrinks the kind that has filled most of its own budget, until all hold seven eighths", () => {
    const kinds = [
      { held: 50, max: 80 },
      { held: 20, max: 20 },
      { held: 11, max: 80 },
    ];
    expect(checked(80, kinds)).toEqual([50, 9, 11]);
  });

  it("shrinks nothing if the kinds hold little once they are counted", () => {
    const memory = new HeldMemory(80);
    const shrunk: number[] = [];
    const kind = { maxBytes: 80, heldBytes: 90, recount: () => Object.assign(kind, { heldBytes: 10 }) };
    memory.add({
      ...kind,
      get heldBytes() {
        return kind.heldBytes;
      },
      shrinkTo: (bytes) => shrunk.push(bytes),
    });
    memory.check();
    expect(shrunk).toEqual([]);
  });

  it("shrinks no kind below nothing", () => {
    const kinds = [
      { held: 5, max: 5 },
      { held: 100, max: 200 },
    ];
    expect(checked(80, kinds)).toEqual([0, 100]);
  });
});
