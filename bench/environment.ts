// The processes that run while the bench measures: the database server, the service and the hand-written routes.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";
import { type DatabaseConfig, readConfig } from "../src/config/config.ts";
import { startPrivateServer } from "../src/private-database/server/private-server.ts";
import { type Child, startChild } from "./child.ts";
import { concurrency, fullBufferPool, type Options } from "./options.ts";

/** Both sides use the same value, so that the bench can compare their replies. */
const siteUrl = "http://stoa.example";

interface BenchDatabase {
  address: DatabaseConfig;
  stop(): Promise<void>;
}

/**
 * Returns the configured database server, or starts a private one. That is as durable as in production and keeps all data in
 * memory, if the buffer pool is large enough.
 */
export async function startDatabase(
  options: Options,
  log: (line: string) => void,
  signal: AbortSignal,
  bufferPool = fullBufferPool,
): Promise<BenchDatabase> {
  const { population, databaseUrl, dataDir } = options;
  if (databaseUrl !== undefined) {
    const { database } = readConfig({ STOA_DATABASE_URL: databaseUrl });
    const address = database as DatabaseConfig;
    const suffix = population.database.replace(/^stoa_bench/, "");
    return { address: { ...address, database: address.database + suffix }, stop: async () => {} };
  }
  const server = await startPrivateServer({
    dataDir,
    log,
    signal,
    extraArgs: [
      `--innodb-buffer-pool-size=${bufferPool}`,
      // Each engine knows only one of these options. A small log would be flushed in bursts.
      "--loose-innodb-log-file-size=1G",
      "--loose-innodb-redo-log-capacity=1G",
    ],
  });
  const address = { socketPath: server.socketPath, user: server.user, database: population.database };
  return { address, stop: () => server.stop() };
}

export function openAdmin(address: DatabaseConfig): Pool {
  return createPool({ ...address, connectionLimit: 1 });
}

export async function describeEngine(admin: Pool): Promise<string> {
  const [rows] = await admin.query<RowDataPacket[]>("SELECT VERSION() AS version");
  const version = String(rows[0]?.version);
  return version.includes("MariaDB") ? version : `MySQL ${version}`;
}

/** @param settings further environment variables */
export function startService(
  address: DatabaseConfig,
  options: Options,
  signal: AbortSignal,
  settings: Record<string, string> = {},
): Promise<Child> {
  return startChild(
    "the service",
    [...nodeFlags(), ...profileFlags(options), join(import.meta.dirname, "../src/main.ts")],
    {
      ...nodeSettings(),
      STOA_PORT: "0",
      STOA_SITE_URL: siteUrl,
      STOA_DATABASE_URL: databaseUrlOf(address),
      STOA_DATABASE_CONNECTIONS: String(concurrency),
      STOA_LOG_LEVEL: "warn",
      STOA_RATE_LIMITS: "off",
      ...settings,
    },
    signal,
  );
}

/** @param program the path of the hand-written server in bench/ */
export function startBaseline(address: DatabaseConfig, signal: AbortSignal, program = "baseline.ts"): Promise<Child> {
  return startChild(
    "the hand-written server",
    [...nodeFlags(), join(import.meta.dirname, program)],
    {
      ...nodeSettings(),
      BASELINE_DATABASE_URL: databaseUrlOf(address),
      BASELINE_CONNECTIONS: String(concurrency),
      BASELINE_SITE_URL: siteUrl,
    },
    signal,
  );
}

/** Starts a program in bench/ that needs no database. */
export function startProgram(
  program: string,
  options: Options,
  signal: AbortSignal,
  settings: Record<string, string> = {},
): Promise<Child> {
  const flags = [...nodeFlags(), ...profileFlags(options)];
  return startChild(
    program,
    [...flags, join(import.meta.dirname, program)],
    { ...nodeSettings(), ...settings },
    signal,
  );
}

function profileFlags({ profile, resultsDir }: Options): string[] {
  if (!profile) return [];
  mkdirSync(resultsDir, { recursive: true });
  return ["--cpu-prof", `--cpu-prof-dir=${resultsDir}`];
}

/** The options that `npm start` gives to Node.js. Both sides run with them. */
function nodeFlags(): string[] {
  return startWords().filter((word) => word.startsWith("--"));
}

/**
 * The environment variables that `npm start` sets. Without the compile cache, each process also loads the TypeScript compiler.
 * With one arena per thread, glibc keeps more free memory.
 */
function nodeSettings(): Record<string, string> {
  const assignments = startWords().filter((word) => /^[A-Z_]+=/.test(word));
  return Object.fromEntries(assignments.map((word) => word.split("=") as [string, string]));
}

function startWords(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
  return (scripts.start as string).split(" ");
}

function databaseUrlOf({ host, port, socketPath, user, password, database }: DatabaseConfig): string {
  const account = [user, ...(password === undefined ? [] : [password])].map(encodeURIComponent).join(":");
  const place = socketPath === undefined ? `${host}:${port}` : "localhost";
  const socket = socketPath === undefined ? "" : `?socket=${encodeURIComponent(socketPath)}`;
  return `mysql://${account}@${place}/${database}${socket}`;
}
