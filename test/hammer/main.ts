// npm run hammer: runs the hammer for minutes, on a private database server that is killed as well, or on a given server.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createPool, type RowDataPacket } from "mysql2/promise";
import { type DatabaseConfig, parseDatabaseUrl } from "../../src/config/database-url.ts";
import { startPrivateServer } from "../../src/private-database/server/private-server.ts";
import { hammer } from "./hammer.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    agents: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now() % 2 ** 32) },
    /** An address without a database, as mysql://root@127.0.0.1:3306. This server is not killed. */
    server: { type: "string" },
  },
});
const started = Date.now();
const log = (line: string) => process.stdout.write(`${((Date.now() - started) / 1000).toFixed(0)} s: ${line}\n`);

await using cleanUp = new AsyncDisposableStack();
const { config, killDatabase } = values.server === undefined ? await ownServer() : givenServer(values.server);
const { database, ...address } = config;
const admin = createPool({ ...address, connectionLimit: 1 });
cleanUp.defer(() => admin.end());
await admin.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
cleanUp.defer(async () => void (await admin.query(`DROP DATABASE ${database}`)));
const pool = createPool({ ...config, connectionLimit: 2, supportBigNumbers: true });
cleanUp.defer(() => pool.end());
log(`${values.agents} agents for ${values.minutes} minutes, seed ${values.seed}`);
const report = await hammer({
  db: {
    config,
    pool,
    rows: async <Row>(sql: string, params: unknown[] = []) =>
      (await pool.query<RowDataPacket[]>(sql, params as never))[0] as Row[],
  },
  agents: Number(values.agents),
  sealers: 4,
  durationMs: Number(values.minutes) * 60_000,
  restartEveryMs: 20_000,
  killDatabase,
  seed: Number(values.seed),
  log,
});
const { faults, ...rest } = report;
log(JSON.stringify(rest));
log(
  faults.length === 0 ? "nothing lost, nothing doubled" : `${faults.length} faults:\n${faults.slice(0, 50).join("\n")}`,
);
if (faults.length > 0) process.exitCode = 1;

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
