// The private database: a MariaDB or MySQL server that runs as a child process on a private socket, with its data in
// the data folder. The folder holds:
//   lock                 locked by the service that uses the folder (folder-lock.ts)
//   mysql/               the data of the database, locked by the server
//   mysql.json           the record of the running server, for the next start if this process is killed
//   mysql.log            the server's log
import { join } from "node:path";
import { unprivilegedAccount } from "../../process/account.ts";
import { takeLock } from "../../process/folder-lock.ts";
import { databaseIn, giveDatabase, makeDataFolder } from "../data-folder.ts";
import { confine } from "./confinement.ts";
import { findServer } from "./find-server.mjs";
import { initialise, madeBy } from "./initialise.ts";
import { serverArgs } from "./options.ts";
import { forgetServer, recordServer, stopStaleServer } from "./running-server.ts";
import { makeSocketFolder, removeSocketFolder, socketIn } from "./socket-folder.ts";
import { supervise } from "./supervise.ts";

export interface PrivateServer {
  readonly socketPath: string;
  /** An account with all rights and no password: only root and the server's account can enter the socket's folder. */
  readonly user: string;
  /** The folder of its data. */
  readonly folder: string;
  /**
   * Stops the server cleanly and releases the data folder. May be called more than once, at any time.
   * @param timeoutMs how long the server may take before it is killed, in milliseconds; by default a minute
   */
  stop(timeoutMs?: number): Promise<void>;
}

export interface PrivateServerOptions {
  /** It is created if it is missing. One process at a time may use it. */
  dataDir: string;
  /** Called with one or more lines about the server. `level` is set for errors. */
  log(line: string, level?: "error"): void;
  /** Further options of the server, which override the usual ones. */
  extraArgs?: string[] | undefined;
  /** Aborts a start that is still going on. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts the server of a data folder, and resolves when it answers queries. The first start creates its data. If the
 * server dies, it is started again on the same socket.
 *
 * A process that exits without `stop()` leaves the server running. The next start stops it cleanly; nothing is lost.
 *
 * @throws Error with a message for the operator if the folder is in use or of the other flavour, no server is
 *   installed, or it does not start; the signal's reason
 */
export async function startPrivateServer(options: PrivateServerOptions): Promise<PrivateServer> {
  const dataDir = await makeDataFolder(options.dataDir);
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
  const { log, signal = new AbortController().signal } = options;
  const folder = databaseIn(dataDir);
  const stale = await stopStaleServer(dataDir, log, signal);
  const account = unprivilegedAccount([dataDir, folder]);
  if (account !== undefined) giveDatabase(dataDir, account);
  const program = findServer(madeBy(folder));
  if (program === undefined) {
    throw new Error("no MariaDB or MySQL server is installed here; install one or set STOA_DATABASE_URL");
  }
  const socketFolder = makeSocketFolder(account);
  const cleanUp = () => {
    removeSocketFolder(socketFolder, account);
    forgetServer(dataDir);
  };
  try {
    recordServer(dataDir, { pid: 0, socketFolder });
    const logFile = join(dataDir, "mysql.log");
    await initialise({ program, dataDir, folder, logFile, account, socketFolder, log, signal });
    const command = confine(account, folder, socketFolder, (visible) => [
      program.command,
      ...serverArgs(program.flavour, visible, socketFolder),
      ...(options.extraArgs ?? []),
    ]);
    const end = await supervise({ ...command, dataDir, socketFolder, logFile, log }, signal);
    if (stale !== undefined) removeSocketFolder(stale.socketFolder, account);
    const stop = (timeoutMs?: number) => end(timeoutMs).finally(cleanUp);
    return { socketPath: socketIn(socketFolder), user: "root", folder, stop };
  } catch (error) {
    cleanUp();
    // The recorded server may still run where it cannot be seen from here. The next start needs its record.
    if (stale !== undefined) recordServer(dataDir, stale);
    throw error;
  }
}
