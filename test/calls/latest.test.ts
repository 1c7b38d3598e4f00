import { expect, it } from "vitest";
import { Latest } from "../../src/calls/latest.ts";

it("what is made of a key is shared until another key comes", () => {
  const latest = new Latest<object, number>();
  let made = 0;
  const make = () => {
    made += 1;
    return made;
  };
  const [one, other] = [{}, {}];
  expect([one, one, other, other, one].map((key) => latest.get(key, make))).toEqual([1, 1, 2, 2, 3]);
});

it("what fails is made again", () => {
  const latest = new Latest<object, number>();
  const key = {};
  const fail = () => {
    throw new Error("not yet");
  };
  expect(() => latest.get(key, fail)).toThrow("not yet");
  expect(latest.get(key, () => 1)).toBe(1);
});
