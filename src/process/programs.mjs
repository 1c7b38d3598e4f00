// Finds the programs of MariaDB and MySQL on this machine. Plain JavaScript, because scripts/setup.mjs uses it too, on
// a fresh clone and under a Node that may not read TypeScript.
import { execFileSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Where these programs are usually installed. PATH may lack some of these folders. */
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

/** The programs with these names that run on this machine. MariaDB installs its programs under MySQL's names, too. */
export function* programs(folders, names) {
  for (const folder of folders) {
    for (const name of names) {
      const command = join(folder, name);
      const version = isExecutable(command) ? versionOf(command) : undefined;
      if (version) yield { flavour: version.includes("MariaDB") ? "mariadb" : "mysql", command, version };
    }
  }
}

/** The program of a flavour that dumps a database or runs SQL; undefined when it is not installed. */
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

/** What the program prints for --version; undefined when it does not run. */
function versionOf(command) {
  try {
    const stdio = ["ignore", "pipe", "ignore"];
    return execFileSync(command, ["--no-defaults", "--version"], { encoding: "utf8", timeout: 10_000, stdio }).trim();
  } catch {
    return undefined;
  }
}
