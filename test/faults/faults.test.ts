import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { faults } from "./cases/index.ts";
import { serviceKilled } from "./cases/service-killed.ts";
import { runFault } from "./run.ts";
import { formatTable, namesIn } from "./table.ts";

it("the table of docs/operating.md has the faults of npm run faults, with what they are", () => {
  const page = readFileSync(new URL("../../docs/operating.md", import.meta.url), "utf8");
  const [, section = ""] = /^## Table of faults\n(.*)/ms.exec(page) ?? [];
  expect(namesIn(section)).toEqual(faults.map(({ name }) => name));
  for (const { done, seen } of faults) {
    expect(section).toContain(done);
    expect(section).toContain(seen);
  }
  expect(section).not.toContain("**wrong**");
});

it("the table of a run that found something says so", () => {
  const result = { fault: serviceKilled, wrong: ["a post is there twice"], acknowledged: 7, backMs: 1_234 };
  expect(formatTable([result], [])).toMatch(/^\| Service killed \|.*\*\*wrong\*\*: a post is there twice \| 1 s \|$/m);
});

it("the runner loses and doubles nothing when the service is killed", async () => {
  const { wrong, acknowledged } = await runFault(serviceKilled);
  expect(wrong).toEqual([]);
  expect(acknowledged).toBeGreaterThan(20);
}, 120_000);
