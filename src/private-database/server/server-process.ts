// One run of the database server: spawned, answering, ended.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { DataFolderInUse } from "../../process/folder-lock.ts";
import { withTimeout } from "../../timing/wait.ts";
import type { Command } from "./confinement.ts";
import { noFiles, serverEnvironment } from "./options.ts";
import { recordServer } from "./running-server.ts";
import { openServerLog, type ServerLog } from "./server-log.ts";
import { socketIn } from "./socket-folder.ts";

export interface Launch extends Command {
  readonly dataDir: string;
  readonly socketFolder: string;
  readonly logFile: string;
  log(line: string, level?: "error"): void;
}

export interface ServerProcess {
  /** Resolves when the server has ended, with a description for people. */
  readonly ended: Promise<string>;
  /**
   * Asks the server to end, and waits. A server that was stopped by SIGSTOP is continued, so that it can end. If it
   * takes longer than `timeoutMs` (by default a minute), it is killed; InnoDB recovers at the next start.
   */
  end(timeoutMs?: number): Promise<void>;
}

/** How long a start waits for a running server to answer: recovery after a crash may read a whole redo log. */
const startTimeoutMs = 10 * 60_000;
/** If the start is aborted: how long the server may still take to come up, and then to end, in milliseconds. */
const abortedStartTimeoutMs = 4_000;
const abortedStopTimeoutMs = 2_500;
/** How long a server may wait for data that another one has locked. By itself it would wait half a minute or more. */
const lockedTimeoutMs = 3_000;
const unseenServer = "a database server that cannot be seen from here, such as one in another container";
/** How long a server may take to answer a query. */
const answerMs = 5_000;
const pollMs = 25;
/** A line reports at this interval that the start still waits. */
const noticeMs = 10_000;
const stopTimeoutMs = 60_000;

/**
 * Starts a server and waits until it answers a query.
 * @throws DataFolderInUse if another server has locked the data; Error, mostly with the last lines of the server's log,
 * if it ends first or does not answer; the signal's reason
 */
export async function launchServer(launch: Launch, signal: AbortSignal): Promise<ServerProcess> {
  signal.throwIfAborted();
  const { dataDir, socketFolder } = launch;
  const socketPath = socketIn(socketFolder);
  // A killed server leaves these files. MySQL would not start if the process id in its .lock were in use again.
  for (const path of [socketPath, `${socketPath}.lock`]) rmSync(path, { force: true });
  // What cleans up temporary folders removes an empty one after days.
  const empty = join(socketFolder, noFiles);
  if (!existsSync(empty)) mkdirSync(empty, { mode: 0o555 });
  const serverLog = openServerLog(launch.logFile);
  const child = spawnServer(launch, serverLog);
  // The server must not keep this process alive when nothing else is left to do.
  child.unref();
  const run = watch(child);
  try {
    if (child.pid !== undefined) recordServer(dataDir, { pid: child.pid, socketFolder });
    await untilAnswering(run, launch, serverLog, signal);
    return run;
  } catch (error) {
    await run.end(signal.aborted ? abortedStopTimeoutMs : error instanceof DataFolderInUse ? 0 : undefined);
    throw error;
  }
}

/**
 * Spawns a program that writes to the server's log. It gets its own process group, so that Ctrl-C in a terminal reaches
 * only the service, which then stops the server cleanly.
 */
export function spawnServer({ command, args, options }: Command, serverLog: ServerLog, env = {}): ChildProcess {
  const stdio = ["ignore" as const, serverLog.fd, serverLog.fd];
  const child = spawn(command, args, { ...options, detached: true, stdio, env: { ...serverEnvironment(), ...env } });
  serverLog.close();
  return child;
}

/** Resolves when a process has ended, with a description for people: `exit code 0` if it succeeded. */
export function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

function watch(child: ChildProcess): ServerProcess {
  const ended = endOf(child);
  const end = async (timeoutMs = stopTimeoutMs) => {
    child.ref();
    child.kill("SIGTERM");
    child.kill("SIGCONT");
    const late = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    await ended;
    clearTimeout(late);
  };
  return { ended, end };
}

async function untilAnswering(run: ServerProcess, launch: Launch, serverLog: ServerLog, signal: AbortSignal) {
  let how: string | undefined;
  const ended = run.ended.then((text) => {
    how = text;
  });
  const started = performance.now();
  let notice = started + noticeMs;
  let look = started + lockedTimeoutMs;
  let abortedAt: number | undefined;
  for (;;) {
    if (await answers(socketIn(launch.socketFolder))) return signal.throwIfAborted();
    const now = performance.now();
    // MariaDB can hang for ever if SIGTERM comes before it is up. So an aborted start still waits for it a while.
    if (signal.aborted) abortedAt ??= now;
    if (abortedAt !== undefined && now - abortedAt > abortedStartTimeoutMs) signal.throwIfAborted();
    if (how !== undefined) throw new Error(`the database server did not start (${how}); ${serverLog.lastLines()}`);
    if (now > look) {
      if (serverLog.saysLocked()) throw new DataFolderInUse(launch.dataDir, unseenServer);
      look = now + lockedTimeoutMs;
    }
    if (now - started > startTimeoutMs)
      throw new Error(`the database server does not answer; ${serverLog.lastLines()}`);
    if (now > notice) {
      launch.log(`still waiting for the database server; ${serverLog.lastLines()}`);
      notice = now + noticeMs;
    }
    await withTimeout(ended, pollMs);
  }
}

/** Whether the server answers a query. @throws Error when the server is up and refuses the account */
async function answers(socketPath: string): Promise<boolean> {
  try {
    const connection = await createConnection({ socketPath, user: "root", connectTimeout: answerMs });
    try {
      await connection.query({ sql: "SELECT 1", timeout: answerMs });
      return true;
    } finally {
      connection.destroy();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith("ER_ACCESS_DENIED")) {
      throw new Error("the private database refuses its own root account; was the password changed?");
    }
    return false;
  }
}
