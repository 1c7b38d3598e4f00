// npm run hammer: runs the hammer for minutes, on a private database server that is killed as well.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createPool, type RowDataPacket } from "mysql2/promise";
import { startPrivateServer } from "../../src/private-database/server/private-server.ts";
import { hammer } from "./hammer.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    agents: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now() % 2 ** 32) },
  },
});
const started = Date.now();
const log = (line: string) => process.stdout.write(`${((Date.now() - started) / 1000).toFixed(0)} s: ${line}\n`);
const dataDir = mkdtempSync(join(tmpdir(), "stoa-hammer-"));
const server = await startPrivateServer({ dataDir, log });
try {
  const address = { socketPath: server.socketPath, user: server.user };
  const admin = createPool({ ...address, connectionLimit: 1 });
  await admin.query("CREATE DATABASE hammer CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
  await admin.end();
  const config = { ...address, database: "hammer" };
  const pool = createPool({ ...config, connectionLimit: 2, supportBigNumbers: true });
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
    // The private server records its process here. Its supervisor starts the next one.
    killDatabase: () => process.kill(JSON.parse(readFileSync(join(dataDir, "mysql.json"), "utf8")).pid, "SIGKILL"),
    seed: Number(values.seed),
    log,
  });
  await pool.end();
  const { faults, ...rest } = report;
  log(JSON.stringify(rest));
  log(
    faults.length === 0
      ? "nothing lost, nothing doubled"
      : `${faults.length} faults:\n${faults.slice(0, 50).join("\n")}`,
  );
  if (faults.length > 0) process.exitCode = 1;
} finally {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
