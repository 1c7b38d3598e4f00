// Creates the folder of the server's data. It gets its name when it is complete, so that a start that is killed
// half-way leaves nothing that looks like a database.
import { chownSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "../../process/account.ts";
import type { Flavour } from "../../process/programs.mjs";
import { untilAborted } from "../../timing/wait.ts";
import { confine } from "./confinement.ts";
import type { ServerProgram } from "./find-server.mjs";
import { openServerLog } from "./server-log.ts";
import { endOf, spawnServer } from "./server-process.ts";

const asidePrefix = "mysql.new-";
/** The size of a new database with the server's temporary files, in MiB. */
const neededMiB: Record<Flavour, number> = { mariadb: 130, mysql: 210 };
const productName: Record<Flavour, string> = { mariadb: "MariaDB", mysql: "MySQL" };

/** Which server created this folder; undefined if it is missing or empty. @throws Error if it is something else */
export function madeBy(folder: string): Flavour | undefined {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return undefined;
  if (existsSync(join(folder, "aria_log_control"))) return "mariadb";
  if (existsSync(join(folder, "mysql.ibd"))) return "mysql";
  throw new Error(`${folder} is not the data of a MariaDB or MySQL server; move it away or set STOA_DATA_DIR`);
}

export interface InitialiseOptions {
  program: ServerProgram;
  dataDir: string;
  folder: string;
  logFile: string;
  /** The account that runs the server; undefined means this process's own account. */
  account: Account | undefined;
  /** Also for temporary tables: a server that starts deletes all of them in its folder, so none is shared. */
  socketFolder: string;
  log(line: string): void;
  signal: AbortSignal;
}

/**
 * Creates `folder` (inside `dataDir`) if it does not exist. The caller holds the lock of `dataDir`.
 * @throws Error if the folder is of the other flavour, the disk lacks space, or the server fails; the signal's reason
 */
export async function initialise(options: InitialiseOptions): Promise<void> {
  const { program, dataDir, folder, account } = options;
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(asidePrefix)) discard(join(dataDir, name));
  }
  const maker = madeBy(folder);
  if (maker === program.flavour) return;
  if (maker !== undefined) {
    throw new Error(
      `${folder} was created by ${productName[maker]}, but the server found here is ${productName[program.flavour]} ` +
        `(${program.command}); install ${productName[maker]}, or set STOA_DATA_DIR to another folder`,
    );
  }
  checkRoom(dataDir, program.flavour);
  options.log(`preparing a ${productName[program.flavour]} database in ${folder}`);
  const aside = mkdtempSync(join(dataDir, asidePrefix));
  if (account !== undefined) chownSync(aside, account.uid, account.gid);
  try {
    await makeData(program, aside, options);
    renameSync(aside, folder);
  } catch (error) {
    discard(aside);
    throw error;
  }
}

function checkRoom(dataDir: string, flavour: Flavour): void {
  const { bavail, bsize } = statfsSync(dataDir);
  const freeMiB = Math.floor((bavail * bsize) / 2 ** 20);
  if (freeMiB >= neededMiB[flavour]) return;
  throw new Error(
    `a new ${productName[flavour]} database takes ${neededMiB[flavour]} MiB, and the disk of ${dataDir} has ${freeMiB} MiB` +
      " free; free some space or set STOA_DATA_DIR to a folder on another disk",
  );
}

/** Removes an unfinished folder. If that fails because a process still writes to it, a later start does it. */
function discard(aside: string): void {
  try {
    rmSync(aside, { recursive: true, force: true, maxRetries: 3 });
  } catch {}
}

async function makeData(
  program: ServerProgram,
  folder: string,
  { logFile, account, socketFolder, signal }: InitialiseOptions,
): Promise<void> {
  signal.throwIfAborted();
  const command = confine(account, folder, socketFolder, (visible) => initCommand(program, visible));
  const serverLog = openServerLog(logFile);
  const child = spawnServer(command, serverLog, { TMPDIR: socketFolder });
  const ended = endOf(child);
  const how = await untilAborted(ended, signal).catch(async (error) => {
    // mariadb-install-db is a shell script. Killing its process group also ends the server that it runs.
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGKILL");
    await ended;
    throw error;
  });
  if (how === "exit code 0") return;
  throw new Error(`${program.command} could not create the data folder ${folder} (${how}); ${serverLog.lastLines()}`);
}

function initCommand(program: ServerProgram, folder: string): [string, ...string[]] {
  const dataArgs = ["--no-defaults", `--datadir=${folder}`];
  if (program.installDb === undefined) return [program.command, ...dataArgs, "--initialize-insecure"];
  // --force skips the look-up of the machine's own host name.
  const normal = ["--auth-root-authentication-method=normal", "--skip-test-db", "--force"];
  return [program.installDb, ...dataArgs, ...normal];
}
