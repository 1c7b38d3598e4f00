import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { startClock } from "../../src/app/clock.ts";
import { CleanUp } from "../../src/app/shutdown.ts";
import { SealChecks } from "../../src/ledger/sealing/seal-checks.ts";
import { Database } from "../../src/store/database/database.ts";
import { Warnings } from "../../src/warnings.ts";
import { startGuarded } from "../ledger/clock/times.ts";

it("has compared the clocks once it has started: what starts after it sweeps nothing by a wrong one", async () => {
  const { service, times } = await startGuarded();
  await service.app.close();
  times.databaseMs -= 61_000;
  const db = new Database({ address: service.db.config, connections: 2 });
  const cleanUp = new CleanUp(() => {});
  cleanUp.push(() => db.close(), "the database");
  onTestFinished(() => cleanUp.run(0));
  const [sealChecks, warnings] = [new SealChecks(), new Warnings()];
  const { expiryNow } = await startClock(times.overrides, db, pino({ level: "silent" }), {
    sealChecks,
    warnings,
    cleanUp,
  });
  expect(expiryNow()).toBe(0);
  expect(warnings.text).toContain("ahead of the database's");
});
