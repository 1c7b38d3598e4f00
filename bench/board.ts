import type { Pool } from "mysql2/promise";
import type { DatabaseConfig } from "../src/config/config.ts";
import { describeEngine, openAdmin, startDatabase } from "./environment.ts";
import { describeMachine, type Report } from "./report.ts";
import type { Run } from "./run.ts";
import { ensureSeed } from "./seed.ts";

/** The environment of a bench of the board. */
export interface BenchBoard {
  address: DatabaseConfig;
  /** A connection pool of the bench itself. */
  admin: Pool;
  machine: Report["machine"];
}

/**
 * Starts the database and fills it with the wanted population.
 * @param bufferPool the memory of a private server, with the unit; it holds one board by default
 */
export async function openBoard({ options, log, signal, cleanUp }: Run, bufferPool?: string): Promise<BenchBoard> {
  const database = await startDatabase(options, log, signal, bufferPool);
  cleanUp.defer(() => database.stop());
  const { address } = database;
  await ensureSeed({ address, population: options.population, anew: options.reseed, log });
  const admin = openAdmin(address);
  cleanUp.defer(() => admin.end());
  return { address, admin, machine: describeMachine(await describeEngine(admin)) };
}
