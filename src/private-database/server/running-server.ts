// The record of the server that was started last on a data folder. A service that is killed cannot stop its server: the
// next start finds it by this record, stops it cleanly, and starts a new one. If the record is lost, or the server
// cannot be seen from here, the new server does not start, because the old one has locked the data.
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "../../timing/wait.ts";
import { socketIn } from "./socket-folder.ts";

export interface RecordedServer {
  /** 0 before the server is spawned. */
  readonly pid: number;
  readonly socketFolder: string;
}

/** The signals that end a server, and how long each may take, in milliseconds. */
const endings = [
  ["SIGTERM", 60_000],
  ["SIGKILL", 10_000],
] as const;
const pollMs = 20;
const recordName = "mysql.json";

export function recordServer(dataDir: string, server: RecordedServer): void {
  const aside = join(dataDir, `${recordName}.new`);
  writeFileSync(aside, JSON.stringify({ ...server, data: identityOf(dataDir) }), { mode: 0o600 });
  renameSync(aside, join(dataDir, recordName));
}

export function forgetServer(dataDir: string): void {
  rmSync(join(dataDir, recordName), { force: true });
}

/** The running server of a data folder; undefined if none can be seen from here. */
export function runningServer(dataDir: string): RecordedServer | undefined {
  const server = recordedServer(dataDir);
  return server !== undefined && isRunning(server) ? server : undefined;
}

/**
 * Stops the server that an earlier service left running, if there is one. The caller holds the lock of the data folder.
 * @returns the recorded server, running or not: its socket folder is no longer needed
 * @throws Error when the server cannot be stopped; the signal's reason, while the server may still be ending
 */
export async function stopStaleServer(
  dataDir: string,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<RecordedServer | undefined> {
  const server = recordedServer(dataDir);
  if (server === undefined || !isRunning(server)) return server;
  log(`stopping the database server of an earlier run (process ${server.pid})`);
  for (const [kind, timeoutMs] of endings) {
    // A server that was stopped by SIGSTOP cannot end without SIGCONT.
    for (const each of [kind, "SIGCONT"] as const) if (isRunning(server)) process.kill(server.pid, each);
    for (const endsAt = performance.now() + timeoutMs; performance.now() < endsAt; await sleep(pollMs)) {
      if (!isRunning(server)) return server;
      signal?.throwIfAborted();
    }
    log(`process ${server.pid} did not end within ${timeoutMs / 1000} s of ${kind}`);
  }
  throw new Error(`the database server of an earlier run (process ${server.pid}) cannot be stopped; stop it by hand`);
}

/** Reads the record. In a copied data folder it is ignored, because it belongs to the original. */
function recordedServer(dataDir: string): RecordedServer | undefined {
  try {
    const { pid, socketFolder, data } = JSON.parse(readFileSync(join(dataDir, recordName), "utf8"));
    return data === identityOf(dataDir) && typeof socketFolder === "string"
      ? { pid: Number(pid), socketFolder }
      : undefined;
  } catch {
    return undefined;
  }
}

function identityOf(dataDir: string): string {
  const { dev, ino } = statSync(dataDir);
  return `${dev}:${ino}`;
}

/** Whether the server runs. Another process may have its id by now, but not its socket on the command line. */
function isRunning({ pid, socketFolder }: RecordedServer): boolean {
  try {
    return commandLine(pid).includes(socketIn(socketFolder));
  } catch {
    return false;
  }
}

function commandLine(pid: number): string {
  if (process.platform !== "linux") {
    return execFileSync("ps", ["-ww", "-o", "command=", "-p", String(pid)], { encoding: "utf8", stdio: "pipe" });
  }
  // If /proc is of another process namespace, its ids are not those that signals use.
  return readlinkSync("/proc/self") === String(process.pid) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : "";
}
