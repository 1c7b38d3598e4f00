// A service that is killed cannot stop its database server. The next start finds that server by a record in the data
// folder, stops it cleanly, and starts a new one.
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { sleep } from "../../timing/wait.ts";
import { DataFolderInUse, unseen } from "../lock/data-folder-lock.ts";
import { lockSoon, type OsLock, tryLock } from "../lock/os-lock.ts";
import { identify, isRunning, type ProcessIdentity, parseIdentity, wasGiven } from "../lock/process-identity.ts";
import { identifyingArgs } from "./options.ts";
import { isScratch } from "./scratch-folder.ts";

export interface ServerFiles {
  /** The database's own data. */
  readonly folder: string;
  /** The record of the server that was started last. */
  readonly record: string;
  /** Locked by the server as long as it runs. */
  readonly lock: string;
  /** Written by the server itself. */
  readonly pidFile: string;
}

const terminateTimeoutMs = 60_000;
const killTimeoutMs = 10_000;

/** Records a server right after its spawn. */
export function recordServer(files: ServerFiles, pid: number, socketFolder: string): void {
  const aside = `${files.record}.new`;
  writeFileSync(aside, JSON.stringify({ ...identify(pid), socketFolder, locking: true }), { mode: 0o600 });
  renameSync(aside, files.record);
}

export function forgetServer(files: ServerFiles): void {
  rmSync(files.record, { force: true });
  rmSync(files.pidFile, { force: true });
}

/** The socket folder and the process id of the server that runs on this data; undefined if none runs. */
export function runningServer(files: ServerFiles): { pid: number; socketFolder: string } | undefined {
  const record = readRecord(files.record);
  const server = ours(files, parseIdentity(record));
  const socketFolder = socketFolderOf(record);
  if (server === undefined || socketFolder === undefined) return undefined;
  return { pid: server.pid, socketFolder };
}

/** The data of a database on which no server runs. */
export interface FreeData {
  /** The lock that the new server must inherit. */
  lock: OsLock;
  /** The socket folder in the record of the last server. If the record was copied, it belongs to another server. */
  socketFolder: string | undefined;
}

/**
 * Stops the server that an earlier service left running on this data, if there is one. A server holds its lock as long as it
 * runs. If the lock is free, the record is out of date or was copied with the folder, and no process is signalled. The
 * caller holds the lock of the data folder.
 * @throws DataFolderInUse when a server runs that cannot be seen from here; the signal's reason, while the server may still
 * be ending: the next start continues
 */
export async function stopStaleServer(
  files: ServerFiles,
  log: (line: string) => void,
  signal: AbortSignal = new AbortController().signal,
): Promise<FreeData> {
  const record = readRecord(files.record);
  let lock = tryLock(files.lock);
  try {
    // Older servers hold no lock, and their records do not have `locking`.
    const isOlder = record !== undefined && record.locking !== true;
    if (lock === undefined || isOlder) await stopRecorded(files, record, log, signal);
    lock ??= await lockSoon(files.lock);
    if (lock === undefined) throw new DataFolderInUse(dirname(files.folder), `a database server ${unseen}`);
    forgetServer(files);
    return { lock, socketFolder: socketFolderOf(record) };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

async function stopRecorded(
  files: ServerFiles,
  record: Record<string, unknown> | undefined,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const server = ours(files, parseIdentity(record)) ?? ours(files, identify(Number(read(files.pidFile))));
  if (server !== undefined) {
    log(`stopping the database server of an earlier run (process ${server.pid})`);
    await end(files, server, log, signal);
  }
}

function socketFolderOf(record: Record<string, unknown> | undefined): string | undefined {
  const path = record?.socketFolder;
  return typeof path === "string" && isScratch(path) ? path : undefined;
}

/** The process, if it runs and serves this data. No other process is ever signalled. */
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
  if (await signalled(files, server, "SIGTERM", terminateTimeoutMs, signal)) return;
  log(`process ${server.pid} did not end within ${terminateTimeoutMs / 1000} s; killing it`);
  if (await signalled(files, server, "SIGKILL", killTimeoutMs, signal)) return;
  throw new Error(`the database server of an earlier run (process ${server.pid}) cannot be stopped; stop it by hand`);
}

async function signalled(
  files: ServerFiles,
  server: ProcessIdentity,
  kind: "SIGTERM" | "SIGKILL",
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (ours(files, server)) {
      process.kill(server.pid, kind);
      // A server that was stopped by SIGSTOP could not end.
      process.kill(server.pid, "SIGCONT");
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
  const deadline = performance.now() + timeoutMs;
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
