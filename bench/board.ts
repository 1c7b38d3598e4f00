import type { Pool } from "mysql2/promise";
import type { DatabaseConfig } from "../src/config/config.ts";
import { describeEngine, openAdmin, startDatabase } from "./environment.ts";
import type { Options } from "./options.ts";
import { describeMachine, type Report } from "./report.ts";
import { ensureSeed } from "./seed.ts";

/** The environment of a bench of the board. */
export interface BenchBoard {
  address: DatabaseConfig;
  /** A connection pool of the bench itself. */
  admin: Pool;
  machine: Report["machine"];
}

/** Starts the database and fills it with the wanted population. `cleanUp` stops it. */
export async function openBoard(
  options: Options,
  log: (line: string) => void,
  signal: AbortSignal,
  cleanUp: AsyncDisposableStack,
): Promise<BenchBoard> {
  const database = await startDatabase(options, log, signal);
  cleanUp.defer(() => database.stop());
  const { address } = database;
  await ensureSeed({ address, population: options.population, anew: options.reseed, log });
  const admin = openAdmin(address);
  cleanUp.defer(() => admin.end());
  return { address, admin, machine: describeMachine(await describeEngine(admin)) };
}
