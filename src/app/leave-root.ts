// The service needs root only to open a low port and to read the key of its certificate.
import { readdirSync, statSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyBaseLogger } from "fastify";
import type { Config } from "../config/config.ts";
import { foreignEntry, giveDataFolder, makeDataFolder } from "../private-database/data-folder.ts";
import { type Account, unprivilegedAccount } from "../process/account.ts";
import { handOver } from "../process/ownership.ts";
import { firstUnreadable } from "../process/unreadable.ts";
import { keepScripts } from "../site/assets.ts";

/** The folders of what was served; see `HeadFolder` and `LogFolder`. */
const keptFolders = ["heads", "log"];
const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Gives up root for good, if this process is root and an unprivileged account can do the rest of its work. Otherwise it logs
 * why not. The data folder is given to that account.
 * @throws Error when the data folder is in use, or this process may not change its account
 */
export async function leaveRoot(config: Config, log: FastifyBaseLogger): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const isPrivate = config.database === undefined;
  const dataDir = await makeDataFolder(config.dataDir);
  const account = unprivilegedAccount([dataDir]);
  if (account === undefined) return;
  const obstacle = findObstacle(config, account, dataDir);
  if (obstacle !== undefined) {
    log.warn(`the service keeps running as root: ${obstacle}`);
    return;
  }
  if (isPrivate) await giveDataFolder(dataDir, account, (line) => log.info(line));
  else giveKeptFolders(dataDir, account);
  // The cache of compiled code belongs to root: root's next start would run what this account wrote there.
  keepScripts();
  flushCompileCache();
  become(account);
  log.info(`the service has dropped root and runs as the account ${account.name}`);
}

/**
 * With an external database: gives the folder to the account that will store the heads and the log in it. A folder that belongs to
 * another account, or holds other files, is left alone. If the heads cannot be stored then, writing them reports it.
 */
function giveKeptFolders(dataDir: string, account: Account): void {
  const names = readdirSync(dataDir);
  if (statSync(dataDir).uid !== 0 || names.some((name) => !keptFolders.includes(name))) return;
  handOver(account, [dataDir]);
}

function findObstacle({ database }: Config, account: Account, dataDir: string): string | undefined {
  // A database server often admits root on a socket by its system account, and would then refuse this process.
  if (database?.socketPath !== undefined && database.user === "root") {
    return "STOA_DATABASE_URL names the database account root on a socket, which may refuse other system accounts";
  }
  const unreadable = firstUnreadable(account, [...sources(), ...(database === undefined ? [dirname(dataDir)] : [])]);
  if (unreadable !== undefined) {
    return `the account ${account.name} cannot read ${unreadable}; move it to where every account can, such as /opt`;
  }
  const foreign = database === undefined ? foreignEntry(dataDir) : undefined;
  return foreign && `${dataDir} holds more than the database (${foreign}); set STOA_DATA_DIR to a separate folder`;
}

/** Everything that may still be loaded: modules, threads, migrations, served files. */
function sources(): string[] {
  const own = ["src", "gen"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(root, folder, name)),
  );
  const modules = join(root, "node_modules");
  return [root, ...own, modules, ...readdirSync(modules).map((name) => join(modules, name))];
}

function become({ uid, gid }: Account): void {
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
  if (process.getuid?.() === 0 || process.geteuid?.() === 0) throw new Error("root could not be dropped");
}
