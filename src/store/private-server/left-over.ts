// A service that is killed cannot stop its database server. The next start finds that server by the record kept here,
// stops it cleanly, and goes on with a fresh one.
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { removeScratch } from "./confine.ts";
import { identifyingArgs, isSocketFolder } from "./options.ts";
import { identify, isRunning, type ProcessIdentity, parseIdentity, wasGiven } from "./process-identity.ts";

export interface ServerFiles {
  /** The database's own data. */
  readonly folder: string;
  /** What we know of the server we started last. */
  readonly record: string;
  /** Written by the server itself. */
  readonly pidFile: string;
}

const politeMs = 60_000;
const killedMs = 10_000;

/** Records a server right after its spawn. */
export function recordServer(files: ServerFiles, pid: number, socketFolder: string): void {
  const aside = `${files.record}.new`;
  writeFileSync(aside, JSON.stringify({ ...identify(pid), socketFolder }), { mode: 0o600 });
  renameSync(aside, files.record);
}

export function forgetServer(files: ServerFiles): void {
  rmSync(files.record, { force: true });
  rmSync(files.pidFile, { force: true });
}

/** The socket folder of the server that runs on this data, with the server's process id; undefined where none runs. */
export function runningServer(files: ServerFiles): { pid: number; socketFolder: string } | undefined {
  const record = readRecord(files.record);
  const server = ours(files, parseIdentity(record));
  const socketFolder = record?.socketFolder;
  if (server === undefined || typeof socketFolder !== "string" || !isSocketFolder(socketFolder)) return undefined;
  return { pid: server.pid, socketFolder };
}

/**
 * Stops the server that an earlier service left running on this data, if there is one, and removes its socket folder.
 * The caller holds the lock of the data folder.
 * @throws the signal's reason: the server may still be ending then, and the next start goes on from there
 */
export async function stopLeftOver(
  files: ServerFiles,
  log: (line: string) => void,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const record = readRecord(files.record);
  const server = ours(files, parseIdentity(record)) ?? ours(files, identify(Number(read(files.pidFile))));
  if (server !== undefined) {
    log(`stopping the database server of an earlier run (process ${server.pid})`);
    await end(files, server, log, signal);
  }
  const socketFolder = record?.socketFolder;
  if (typeof socketFolder === "string" && isSocketFolder(socketFolder)) {
    removeScratch(socketFolder);
  }
  forgetServer(files);
}

/** The process, only if it runs and serves this very data: nothing else is ever signalled. */
function ours(files: ServerFiles, found: ProcessIdentity | undefined): ProcessIdentity | undefined {
  if (found === undefined || !isRunning(found)) return undefined;
  return identifyingArgs(files.folder).some((argument) => wasGiven(found.pid, argument)) ? found : undefined;
}

async function end(
  files: ServerFiles,
  server: ProcessIdentity,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (await signalled(files, server, "SIGTERM", politeMs, signal)) return;
  log(`process ${server.pid} did not end within ${politeMs / 1000} s; killing it`);
  if (await signalled(files, server, "SIGKILL", killedMs, signal)) return;
  throw new Error(`the database server of an earlier run (process ${server.pid}) cannot be stopped; stop it by hand`);
}

async function signalled(
  files: ServerFiles,
  server: ProcessIdentity,
  kind: "SIGTERM" | "SIGKILL",
  boundMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (ours(files, server)) {
      process.kill(server.pid, kind);
      // A server that is stopped (SIGSTOP) could not end.
      process.kill(server.pid, "SIGCONT");
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
  const deadline = performance.now() + boundMs;
  while (isRunning(server)) {
    signal.throwIfAborted();
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

function readRecord(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(read(path) ?? "");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
