// Finds the programs of MariaDB and MySQL on this machine. Plain JavaScript, because scripts/setup.mjs asks the same questions
// on a fresh clone, under a Node that does not read TypeScript; both must come to the same answers.
import { execFileSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Where programs are installed although the PATH of an ordinary account does not lead there. */
const usualFolders = [
  ..."/usr/sbin /usr/local/sbin /usr/libexec /usr/bin /usr/local/bin /usr/local/mysql/bin".split(" "),
  ...["/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew"].flatMap((brew) =>
    ["bin", "opt/mariadb/bin", "opt/mysql/bin", "opt/mysql-client/bin"].map((folder) => join(brew, folder)),
  ),
];

/** The folders of the PATH, then the usual ones. */
export function programFolders() {
  return [...new Set([...(process.env.PATH ?? "").split(delimiter).filter(Boolean), ...usualFolders])];
}

/** The programs with these names that run here. MariaDB installs its programs under MySQL's names, too. */
export function* programs(folders, names) {
  for (const folder of folders) {
    for (const name of names) {
      const command = join(folder, name);
      const version = isExecutable(command) ? versionOf(command) : undefined;
      if (version) yield { flavour: version.includes("MariaDB") ? "mariadb" : "mysql", command, version };
    }
  }
}

/**
 * The program of this flavour that dumps a database (`dump`) or runs statements (`sql`); undefined when it is not installed.
 */
export function findClient(purpose, flavour, folders = programFolders()) {
  const names = purpose === "dump" ? ["mariadb-dump", "mysqldump"] : ["mariadb", "mysql"];
  for (const program of programs(folders, names)) if (program.flavour === flavour) return program.command;
  return undefined;
}

export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The program's own version line; undefined when the file does not run here. */
function versionOf(command) {
  try {
    const stdio = ["ignore", "pipe", "ignore"];
    return execFileSync(command, ["--no-defaults", "--version"], { encoding: "utf8", timeout: 10_000, stdio }).trim();
  } catch {
    return undefined;
  }
}
