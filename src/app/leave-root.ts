// The service needs root only to open a low port and to read its TLS key. Then it drops root.
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

/** The folders that the service writes with an external database; see `HeadFolder` and `LogFolder`. */
const keptFolders = ["heads", "log"];
const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * If this process is root, drops root for good and gives the data folder to the account that it becomes. If that
 * account cannot do the rest of the work, the process stays root, and the log says why.
 * @throws Error when the data folder cannot be created or is in use, or this process may not change its account
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
  // The compile cache is written now and stays root's: root's next start would run code that this account wrote there.
  keepScripts();
  flushCompileCache();
  become(account);
  log.info(`the service has dropped root and runs as the account ${account.name}`);
}

/**
 * With an external database: gives the data folder to the account, which stores the heads and the log there. A folder
 * that belongs to another account, or holds other files, stays as it is. If the account then cannot write the heads,
 * the service warns of that.
 */
function giveKeptFolders(dataDir: string, account: Account): void {
  const names = readdirSync(dataDir);
  if (statSync(dataDir).uid !== 0 || names.some((name) => !keptFolders.includes(name))) return;
  handOver(account, [dataDir]);
}

function findObstacle({ database }: Config, account: Account, dataDir: string): string | undefined {
  // On a socket, a server often admits the database account root only from the system account root.
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

/** The files and folders that the account must be able to read: modules, migrations, served files. */
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
