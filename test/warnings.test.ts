import { expect, it } from "vitest";
import { Warnings } from "../src/warnings.ts";

it("joins what its sources say now, in their order", () => {
  const warnings = new Warnings();
  let clock: string | undefined;
  warnings.add("clock", () => clock);
  warnings.add("disk", () => "The disk is nearly full.");
  expect(warnings.text).toBe("The disk is nearly full.");
  clock = "The clock is wrong.";
  expect(warnings.text).toBe("The clock is wrong. The disk is nearly full.");
  expect([...warnings.states]).toEqual([
    ["clock", 1],
    ["disk", 1],
  ]);
  clock = undefined;
  expect([...warnings.states]).toEqual([
    ["clock", 0],
    ["disk", 1],
  ]);
});

it("says nothing where all is well, and takes a name once", () => {
  const warnings = new Warnings();
  warnings.add("clock", () => undefined);
  expect(warnings.text).toBeUndefined();
  expect(() => warnings.add("clock", () => "again")).toThrow("clock");
});
