import { expect, it } from "vitest";
import { supervisorConfig, workerBodies, workerConfig } from "../../src/app/shares.ts";
import { readConfig } from "../../src/config/config.ts";

const MIB = 1024 * 1024;

it.each([
  ["2", "6"],
  ["2", "32"],
  ["3", "32"],
  ["7", "16"],
  ["64", "1000"],
])("%s workers and their supervisor have %s connections to the database together", (workers, connections) => {
  const config = readConfig({ STOA_WORKERS: workers, STOA_DATABASE_CONNECTIONS: connections });
  const shares = Array.from(
    { length: config.workers },
    (_, index) => workerConfig(config, index + 1).databaseConnections,
  );
  const own = supervisorConfig(config).databaseConnections;
  expect(shares.reduce((sum, each) => sum + each, own)).toBe(config.databaseConnections);
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(own);
  expect(own).toBeGreaterThanOrEqual(2);
  expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
});

it("workers divide the budgets of bytes, and the largest page of a feed still fits", () => {
  const two = readConfig({ STOA_WORKERS: "2" });
  expect(workerConfig(two, 1)).toMatchObject({ maxUnsentBytes: 24 * MIB, maxUnsentBytesPerConnection: 16 * MIB });
  expect(workerBodies(two)).toEqual({ maxTotal: 16 * MIB, maxPerConnection: 8 * MIB });
  const eight = readConfig({ STOA_WORKERS: "8" });
  expect(workerConfig(eight, 8)).toMatchObject({ maxUnsentBytes: 8 * MIB, maxUnsentBytesPerConnection: 8 * MIB });
  expect(workerBodies(eight)).toEqual({ maxTotal: 4 * MIB, maxPerConnection: 4 * MIB });
});
