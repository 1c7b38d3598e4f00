import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { slowFiles } from "./slowest-first.ts";

it("each file that begins first exists", () => {
  expect(slowFiles.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
});
