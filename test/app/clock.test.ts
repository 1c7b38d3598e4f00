import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { startClock } from "../../src/app/clock.ts";
import { Shutdown } from "../../src/app/shutdown.ts";
import { SealChecks } from "../../src/ledger/sealing/seal-checks.ts";
import { Database } from "../../src/store/database/database.ts";
import { Warnings } from "../../src/warnings.ts";
import { startGuarded } from "../ledger/clock/times.ts";

it("the clocks are compared before the start continues, so no sweep uses a wrong clock", async () => {
  const { service, times } = await startGuarded();
  await service.app.close();
  times.databaseMs -= 61_000;
  const db = new Database({ address: service.db.config, connections: 2 });
  const shutdown = new Shutdown(() => {});
  shutdown.push(() => db.close(), "the database");
  onTestFinished(() => shutdown.run(0));
  const warnings = new Warnings();
  const { overrides } = times;
  const log = pino({ level: "silent" });
  const startup = { overrides, log, shutdown, warnings, sealChecks: new SealChecks() };
  const { expiryNow } = await startClock(startup, db);
  expect(expiryNow()).toBe(0);
  expect(warnings.text).toContain("ahead of the database's");
});
