// npm run hammer: runs the hammer for minutes, on a private database server that is killed as well, or on a given server.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type DatabaseConfig, parseDatabaseUrl } from "../../src/config/database-url.ts";
import { startPrivateServer } from "../../src/private-database/server/private-server.ts";
import { openDatabase } from "../support/open-database.ts";
import { urlOf } from "../support/process.ts";
import type { Cluster } from "./cluster.ts";
import { hammer, verdictOf } from "./hammer.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    agents: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now() % 2 ** 32) },
    /** An address without a database, as mysql://root@127.0.0.1:3306. This server is not killed. */
    server: { type: "string" },
  },
});
const restartEveryMs = 20_000;
const durationMs = Number(values.minutes) * 60_000;
const started = Date.now();
const log = (line: string) => process.stdout.write(`${((Date.now() - started) / 1000).toFixed(0)} s: ${line}\n`);

await using cleanUp = new AsyncDisposableStack();
const { config, killDatabase } = values.server === undefined ? await ownServer() : givenServer(values.server);
const admin = openDatabase({ ...config, database: "" });
cleanUp.defer(() => admin.pool.end());
await admin.rows(`CREATE DATABASE ${config.database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
cleanUp.defer(async () => void (await admin.rows(`DROP DATABASE ${config.database}`)));
const db = openDatabase(config);
cleanUp.defer(() => db.pool.end());
log(`${values.agents} agents for ${values.minutes} minutes, seed ${values.seed}`);
const faults = await hammer({
  db,
  replicas: [1, 2].map(() => ({ STOA_DATABASE_URL: urlOf(config) })),
  chaos: disturb,
  mayBeAway: false,
  agents: Number(values.agents),
  sealers: 4,
  seed: Number(values.seed),
  log,
});
log(verdictOf(faults));
if (faults.length > 0) process.exitCode = 1;

/** Restarts replicas in turn, and kills the database once, half-way. */
async function disturb({ restart }: Cluster): Promise<[]> {
  const end = Date.now() + durationMs;
  let isKilled = killDatabase === undefined;
  for (let restarts = 0; end - Date.now() > restartEveryMs; ) {
    await sleep(restartEveryMs);
    if (!isKilled && Date.now() >= end - durationMs / 2) {
      log("killing the database");
      killDatabase?.();
      isKilled = true;
      continue;
    }
    const signal = restarts % 3 === 2 ? "SIGINT" : "SIGKILL";
    log(`ending replica ${restarts % 2} by ${signal}`);
    await restart(restarts % 2, signal);
    restarts++;
  }
  await sleep(Math.max(0, end - Date.now()));
  return [];
}

/** Starts a private server. `cleanUp` stops it. */
async function ownServer(): Promise<{ config: DatabaseConfig; killDatabase: () => void }> {
  const dataDir = mkdtempSync(join(tmpdir(), "stoa-hammer-"));
  cleanUp.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const server = await startPrivateServer({ dataDir, log });
  cleanUp.defer(() => server.stop());
  return {
    config: { socketPath: server.socketPath, user: server.user, database: "hammer" },
    // The private server records its process here. Its supervisor starts the next one.
    killDatabase: () => process.kill(JSON.parse(readFileSync(join(dataDir, "mysql.json"), "utf8")).pid, "SIGKILL"),
  };
}

function givenServer(url: string): { config: DatabaseConfig; killDatabase: undefined } {
  return { config: parseDatabaseUrl(`${url.replace(/\/$/, "")}/stoa_hammer_${process.pid}`), killDatabase: undefined };
}
