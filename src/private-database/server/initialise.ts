// Creates the data folder of the database, once. It is created under another name and renamed when it is complete, so that
// a start that is killed half-way leaves nothing that looks like a database.
import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "../../process/account.ts";
import { confine } from "./confinement.ts";
import type { Flavour, ServerProgram } from "./find-server.mjs";
import { serverEnvironment } from "./options.ts";
import { makeScratch } from "./scratch-folder.ts";
import { openServerLog } from "./server-log.ts";

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

/**
 * Creates `folder` (inside `dataDir`) if it does not exist. The caller holds the lock of `dataDir`.
 * @throws Error if the folder belongs to the other flavour, or the server cannot create it
 */
export async function initialise(options: {
  program: ServerProgram;
  dataDir: string;
  folder: string;
  logFile: string;
  /** The account that runs the server; undefined means this process's own account. */
  account: Account | undefined;
  log(line: string): void;
  signal: AbortSignal;
}): Promise<void> {
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

/** Removes an unfinished folder. If a process still writes to it, a later start removes it. */
function discard(aside: string): void {
  try {
    rmSync(aside, { recursive: true, force: true, maxRetries: 3 });
  } catch {}
}

async function makeData(
  program: ServerProgram,
  folder: string,
  { logFile, account, signal }: { logFile: string; account: Account | undefined; signal: AbortSignal },
): Promise<void> {
  signal.throwIfAborted();
  // Temporary tables need their own folder: every server that starts deletes the temporary tables in the common folder.
  const scratch = makeScratch("init", account);
  try {
    const confinement = confine(account, folder, scratch.folder);
    const { command, args, options } = confinement.wrap(...initCommand(program, confinement.folder));
    const serverLog = openServerLog(logFile);
    // Its own process group, so that an abort ends mariadb-install-db (a shell script) together with the server it runs.
    const stdio = ["ignore" as const, serverLog.fd, serverLog.fd, scratch.fd];
    const env = { ...serverEnvironment(), TMPDIR: scratch.folder };
    const child = spawn(command, args, { ...options, detached: true, stdio, env });
    serverLog.close();
    const how = await untilEnded(child, signal);
    if (how !== undefined) {
      throw new Error(
        `${program.command} could not create the data folder ${folder} (${how}); ${serverLog.lastLines()}`,
      );
    }
  } finally {
    scratch.remove();
  }
}

/** Waits for the child, and kills its group when the signal aborts. @returns how it failed; undefined if it succeeded */
async function untilEnded(child: ChildProcess, signal: AbortSignal): Promise<string | undefined> {
  const end = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, "SIGKILL");
    }
  };
  signal.addEventListener("abort", end);
  try {
    const how = await new Promise<string | undefined>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("exit", (code, name) => resolve(code === 0 ? undefined : (name ?? `exit code ${code}`)));
    });
    signal.throwIfAborted();
    return how;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function initCommand(program: ServerProgram, folder: string): [string, string[]] {
  const dataArgs = ["--no-defaults", `--datadir=${folder}`];
  if (program.installDb === undefined) return [program.command, [...dataArgs, "--initialize-insecure"]];
  // --force skips a look-up of the machine's own name, which is not needed.
  const normal = ["--auth-root-authentication-method=normal", "--skip-test-db", "--force"];
  return [program.installDb, [...dataArgs, ...normal]];
}
