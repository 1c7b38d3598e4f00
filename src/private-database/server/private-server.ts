// The private database: a MariaDB or MySQL server that runs as a child process on a private socket, with its data in the
// data folder. The folder holds:
//   lock                 locked by the service that uses the folder (lock/data-folder-lock.ts)
//   mysql/               the data of the database, with the id of the server's process in server.pid
//   mysql.lock           locked by the server as long as it runs
//   mysql.json           the record of the running server, for the next start if this process is killed
//   mysql.log            the server's log
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Account, unprivilegedAccount } from "../../process/account.ts";
import { giveDatabase, makeDataFolder, serverFiles } from "../data-folder.ts";
import { takeLock } from "../lock/data-folder-lock.ts";
import type { OsLock } from "../lock/os-lock.ts";
import { confine } from "./confinement.ts";
import { type Flavour, findServer } from "./find-server.mjs";
import { initialise, madeBy } from "./initialise.ts";
import { makeSocketFolder, noFiles, serverArgs, socketIn } from "./options.ts";
import { sweepScratch } from "./scratch-folder.ts";
import type { Launch } from "./server-process.ts";
import { forgetServer, recordServer, type ServerFiles, stopStaleServer } from "./stale-server.ts";
import { supervise } from "./supervise.ts";

export interface PrivateServer {
  readonly socketPath: string;
  /** An account with all rights and no password. Only the service's account can enter the socket's folder. */
  readonly user: string;
  readonly flavour: Flavour;
  /** The folder of its data. */
  readonly folder: string;
  /**
   * Stops the server cleanly and releases the data folder. May be called more than once, at any time.
   * @param timeoutMs how long the server may take before it is killed, in milliseconds; by default a minute
   */
  stop(timeoutMs?: number): Promise<void>;
}

export interface PrivateServerOptions {
  /** It is created if it is missing. One service at a time may use it. */
  dataDir: string;
  /** Called with one or more lines about the server. `level` is set for errors. */
  log(line: string, level?: "error"): void;
  /** Further server options; the last one wins. */
  extraArgs?: string[] | undefined;
  /** Aborts a start that is still going on. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts the database of a data folder, and resolves when it answers queries. The first start creates the database. When the
 * server dies, it is started again on the same socket.
 *
 * A process that exits without `stop()` leaves the server running. That is harmless: the next start finds it, stops it
 * cleanly and loses nothing.
 *
 * @throws Error, with a message for the operator, when the folder is in use, belongs to the other kind of server, no server
 *   is installed, or it does not start; the signal's reason when that is aborted
 */
export async function startPrivateServer(options: PrivateServerOptions): Promise<PrivateServer> {
  const dataDir = makeDataFolder(options.dataDir);
  const unlock = await takeLock(dataDir);
  try {
    const server = await start(dataDir, options);
    let stopped: Promise<void> | undefined;
    const stop = (timeoutMs?: number) => {
      stopped ??= server.stop(timeoutMs).finally(unlock);
      return stopped;
    };
    return { ...server, stop };
  } catch (error) {
    unlock();
    throw error;
  }
}

async function start(dataDir: string, options: PrivateServerOptions): Promise<PrivateServer> {
  const { log } = options;
  const files = serverFiles(dataDir);
  const { folder } = files;
  const { lock, socketFolder } = await stopStaleServer(files, log, options.signal);
  try {
    const account = unprivilegedAccount([dataDir, folder]);
    sweepScratch(account, socketFolder === undefined ? [] : [socketFolder]);
    if (account !== undefined) giveDatabase(dataDir, account);
    const server = await startOn(files, lock, account, options);
    return { ...server, stop: (timeoutMs) => server.stop(timeoutMs).finally(() => lock.release()) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** @param lock the lock of the server, which it inherits */
async function startOn(
  files: ServerFiles,
  lock: OsLock,
  account: Account | undefined,
  options: PrivateServerOptions,
): Promise<PrivateServer> {
  const { log, signal = new AbortController().signal } = options;
  const { folder } = files;
  const dataDir = dirname(folder);
  const logFile = join(dataDir, "mysql.log");
  const program = findServer(madeBy(folder));
  if (program === undefined) {
    throw new Error("no MariaDB or MySQL server is installed here; install one or set STOA_DATABASE_URL");
  }
  await initialise({ program, dataDir, folder, logFile, account, log, signal });

  const scratch = makeSocketFolder(account);
  const socketPath = socketIn(scratch.folder);
  const cleanUp = () => {
    scratch.remove();
    forgetServer(files);
  };
  try {
    mkdirSync(join(scratch.folder, noFiles), { mode: 0o555 });
    const confinement = confine(account, folder, scratch.folder);
    const args = serverArgs(program.flavour, folder, confinement.folder, scratch.folder);
    const launch: Launch = {
      ...confinement.wrap(program.command, [...args, ...(options.extraArgs ?? [])]),
      socketPath,
      logFile,
      inherited: [lock.fd, scratch.fd],
      spawned: (pid) => recordServer(files, pid, scratch.folder),
      log,
    };
    const end = await supervise(launch, signal);
    return {
      socketPath,
      user: "root",
      flavour: program.flavour,
      folder,
      stop: (timeoutMs) => end(timeoutMs).finally(cleanUp),
    };
  } catch (error) {
    cleanUp();
    throw error;
  }
}
