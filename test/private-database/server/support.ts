// Real private servers, each on a data folder of its own that ends with its test.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";
import {
  type PrivateServer,
  type PrivateServerOptions,
  startPrivateServer,
} from "../../../src/private-database/server/private-server.ts";
import { isRunning } from "../../support/running.ts";
import { waitUntil } from "../../support/wait.ts";

export let home: string;
export let dataDir: string;
export let lines: string[];
let servers: PrivateServer[];
export let children: ChildProcess[];
/**
 * A folder with the data of a new database, which an earlier start was killed at making. Copying it takes a tenth of the
 * time of creating it.
 */
export let made: string;

/** Adds the hooks of a test file. */
export function usePrivateServers(): void {
  beforeAll(async () => {
    made = realpathSync(mkdtempSync(join(tmpdir(), "stoa-private-server-")));
    mkdirSync(join(made, "mysql.new-abcdef", "mysql"), { recursive: true });
    writeFileSync(join(made, "mysql.new-abcdef", "ibdata1"), "half");
    await (await startPrivateServer({ dataDir: made, log() {} })).stop();
  });
  afterAll(() => rmSync(made, { recursive: true }));

  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "stoa-private-server-")));
    dataDir = join(home, "data");
    lines = [];
    servers = [];
    children = [];
  });

  afterEach(async () => {
    vi.unstubAllEnvs();
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(servers.map((server) => server.stop()));
    // A killed owner leaves a server and files behind if no later start of the test has cleaned up.
    const { socketFolder } = JSON.parse(contentOf(join(dataDir, "mysql.json")) ?? "{}");
    const orphan = Number(contentOf(join(dataDir, "mysql/server.pid")));
    if (orphan > 0 && isRunning(orphan)) {
      process.kill(orphan, "SIGKILL");
      await waitUntil("the end of the orphan", () => !isRunning(orphan));
    }
    if (socketFolder !== undefined) rmSync(socketFolder, { recursive: true, force: true });
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
}

export const sevenRow = ["CREATE DATABASE d", "CREATE TABLE d.t (n INT) ENGINE=InnoDB", "INSERT INTO d.t VALUES (7)"];

export function copyMade(folder = dataDir): void {
  cpSync(made, folder, { recursive: true });
}

export async function start(options: Partial<PrivateServerOptions> = {}): Promise<PrivateServer> {
  const server = await startPrivateServer({ dataDir, log: record, ...options });
  servers.push(server);
  return server;
}

/** Records a line of the log, with its level if it has one. */
function record(line: string, level?: "error"): void {
  lines.push(level === undefined ? line : `${level}: ${line}`);
}

export async function run(server: PrivateServer, ...statements: string[]): Promise<unknown> {
  const connection = await createConnection({ socketPath: server.socketPath, user: server.user });
  try {
    let result: unknown;
    for (const sql of statements) [result] = await connection.query(sql);
    return result;
  } finally {
    await connection.end();
  }
}

export async function serverPid(server: PrivateServer): Promise<number> {
  // The server writes its pid file before it answers.
  await run(server, "SELECT 1");
  return Number(readFileSync(join(dataDir, "mysql/server.pid"), "utf8"));
}

export function contentOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** Starts the server from a separate process, and kills that process. The server runs on. */
export async function orphanServer(...statements: string[]): Promise<{ server: PrivateServer; orphan: number }> {
  copyMade();
  const module = new URL("../../../src/private-database/server/private-server.ts", import.meta.url).href;
  const script = `
    const { startPrivateServer } = await import(${JSON.stringify(module)});
    process.send(await startPrivateServer({ dataDir: ${JSON.stringify(dataDir)}, log() {} }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  children.push(child);
  const [server] = await Promise.race([once(child, "message"), once(child, "exit").then(() => [])]);
  if (server === undefined) throw new Error("the owner did not start");
  await run(server, "SELECT 1", ...statements);
  const orphan = await serverPid(server);
  child.kill("SIGKILL");
  await once(child, "exit");
  return { server, orphan };
}
