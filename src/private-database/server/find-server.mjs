// Finds the MariaDB or MySQL server of this machine. Plain JavaScript; see src/process/programs.mjs.
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { isExecutable, programFolders, programs } from "../../process/programs.mjs";

/**
 * The first usable server, preferably one of the wanted flavour; undefined when there is none. MariaDB needs its script
 * mariadb-install-db, and the my_print_defaults that the script calls (in another package of Debian), to create its
 * data.
 */
export function findServer(wanted, folders = programFolders()) {
  let first;
  for (const program of programs(folders, ["mariadbd", "mysqld"])) {
    const installDb = program.flavour === "mariadb" ? findInstallDb(program.command, folders) : undefined;
    if (program.flavour === "mariadb" && installDb === undefined) continue;
    const server = { ...program, installDb };
    if (wanted === undefined || server.flavour === wanted) return server;
    first ??= server;
  }
  return first;
}

function findInstallDb(command, folders) {
  const home = dirname(dirname(realpathSync(command)));
  const firstOf = (...names) => {
    const places = [join(home, "bin"), join(home, "scripts"), ...folders];
    return places.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
  };
  return firstOf("my_print_defaults") && firstOf("mariadb-install-db", "mysql_install_db");
}
