// Finds the MariaDB or MySQL server of this machine. Plain JavaScript, because scripts/setup.mjs asks the same question on
// a fresh clone, under a Node that does not read TypeScript; both must come to the same answer.
import { execFileSync } from "node:child_process";
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** Where servers are installed although the PATH of an ordinary account does not lead there. */
const usualFolders = [
  "/usr/sbin",
  "/usr/local/sbin",
  "/usr/libexec",
  "/usr/bin",
  "/usr/local/bin",
  ...["/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew"].flatMap((brew) =>
    ["bin", "opt/mariadb/bin", "opt/mysql/bin"].map((folder) => join(brew, folder)),
  ),
  "/usr/local/mysql/bin",
];

/** The folders of the PATH, then the usual ones. */
function serverFolders() {
  return [...new Set([...(process.env.PATH ?? "").split(delimiter).filter(Boolean), ...usualFolders])];
}

/**
 * The first usable server, preferably one of the wanted flavour; undefined when there is none.
 * A MariaDB without mariadb-install-db, or without the my_print_defaults which that script calls (Debian has it in another
 * package than the server), is passed over: it could not make a data folder.
 */
export function findServer(wanted, folders = serverFolders()) {
  let first;
  for (const server of servers(folders)) {
    if (wanted === undefined || server.flavour === wanted) return server;
    first ??= server;
  }
  return first;
}

function* servers(folders) {
  const seen = new Set();
  for (const folder of folders) {
    for (const name of ["mariadbd", "mysqld"]) {
      const command = executable(join(folder, name));
      if (command === undefined || seen.has(realpathSync(command))) continue;
      seen.add(realpathSync(command));
      const version = versionOf(command);
      if (version === undefined) continue;
      if (!version.includes("MariaDB")) yield { flavour: "mysql", command, installDb: undefined, version };
      else {
        const installDb = findInstallDb(command, folders);
        if (installDb !== undefined) yield { flavour: "mariadb", command, installDb, version };
      }
    }
  }
}

function findInstallDb(command, folders) {
  const home = dirname(dirname(realpathSync(command)));
  const places = [join(home, "bin"), join(home, "scripts"), ...folders];
  if (firstIn(places, ["my_print_defaults"]) === undefined) return undefined;
  return firstIn(places, ["mariadb-install-db", "mysql_install_db"]);
}

function firstIn(folders, names) {
  for (const folder of folders) {
    for (const name of names) {
      const found = executable(join(folder, name));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function executable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The server's own version line; undefined when the file does not run here. */
function versionOf(command) {
  try {
    const stdio = ["ignore", "pipe", "ignore"];
    return execFileSync(command, ["--no-defaults", "--version"], { encoding: "utf8", timeout: 10_000, stdio }).trim();
  } catch {
    return undefined;
  }
}
