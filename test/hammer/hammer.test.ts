import { expect, it } from "vitest";
import { createTestDatabase } from "../support/database.ts";
import { hammer } from "./hammer.ts";

it("loses and doubles nothing while agents retry blindly and replicas are killed", async () => {
  const db = await createTestDatabase();
  const report = await hammer({
    db,
    agents: 40,
    sealers: 2,
    durationMs: 20_000,
    restartEveryMs: 4_000,
    seed: 20_261_121,
    log: () => {},
  });
  expect(report.faults).toEqual([]);
  expect(report.restarts).toBeGreaterThan(1);
  expect(report.replays).toBeGreaterThan(10);
  expect(report.acknowledged.acts).toBeGreaterThan(10);
  expect(report.acknowledged.deletions).toBeGreaterThan(10);
  expect(report.acknowledged.items).toBeGreaterThan(100);
  expect(report.lost).toBeGreaterThan(10);
}, 120_000);
