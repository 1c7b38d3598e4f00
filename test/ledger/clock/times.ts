import { createDatabaseWithSchema, type TestDatabase } from "../../support/database.ts";
import type { ServiceOptions } from "../../support/service.ts";
import { openLedger, startLedger } from "../support.ts";

/** The clocks of a service and of its database; each can be set apart from the others. */
export class Times {
  wallMs: number;
  databaseMs: number;
  steadyMs = 0;

  constructor(time = "2026-03-01T12:00:00Z") {
    this.wallMs = Date.parse(time);
    this.databaseMs = this.wallMs;
  }

  readonly overrides = {
    clocks: { wall: () => this.wallMs, steady: () => this.steadyMs, uptime: () => this.steadyMs },
    databaseNow: () => this.databaseMs,
  };

  /** Time passes, and every clock tells it. */
  pass(ms: number): void {
    this.wallMs += ms;
    this.databaseMs += ms;
    this.steadyMs += ms;
  }

  /** The clock of the machine is set; a private database shares it. */
  set(ms: number): void {
    this.wallMs += ms;
    this.databaseMs += ms;
  }
}

/** A database whose ledger began at this time. */
export async function beginLedger(time: string): Promise<TestDatabase> {
  const db = await createDatabaseWithSchema();
  await openLedger(db, () => Date.parse(time));
  return db;
}

/** A service that goes by these clocks. */
export async function startGuarded(times = new Times(), options: ServiceOptions = {}) {
  const service = await startLedger({ ...options, overrides: { ...times.overrides, ...options.overrides } });
  return { service, times };
}

export const held = { code: "Unavailable", error: "unavailable" };

/** The dates that are sealed. */
export async function sealedDays(db: TestDatabase): Promise<string[]> {
  return (await db.rows<{ date: string }>("SELECT date FROM ledger_days ORDER BY date")).map(({ date }) => date);
}
