// The private database needs a MariaDB or MySQL server on this machine, and its backups need the client of that server.
import { findServer } from "../../src/private-database/server/find-server.mjs";
import { findClient } from "../../src/process/programs.mjs";
import { aptInstall, hasCommand, systemInstallAllowed } from "./apt.mjs";
import { say } from "./run.mjs";

// The client brings my_print_defaults as well, which mariadb-install-db calls.
const clientPackage = "mariadb-client";
const debianPackages = ["mariadb-server-core", clientPackage];
const commands = {
  apt: `sudo apt-get install --no-install-recommends ${debianPackages.join(" ")}`,
  dnf: "sudo dnf install mariadb-server",
  apk: "sudo apk add mariadb",
  brew: "brew install mariadb",
};

/** Returns whether a server will be started here. The service starts one if it has no other; the tests always start one. */
export function needsServer(purpose, env) {
  return purpose === "test" || !(env.STOA_DATABASE_URL || env.STOA_DATABASE_URL_FILE);
}

/**
 * Returns what to do about the server: nothing, install packages, or tell the user how.
 * @param found the server that was found
 * @param hasClient whether its client was found. `stoa backup` says itself what to install if nothing can be installed here
 * @param allowed whether the set-up may install system packages
 */
export function plan({ found, hasClient, root, platform, hasCommand, allowed }) {
  const canInstall = allowed && platform === "linux" && root && hasCommand("apt-get");
  if (!found)
    return canInstall
      ? { action: "apt", packages: debianPackages }
      : { action: "tell", message: advice(platform, hasCommand) };
  if (found.flavour === "mariadb" && !hasClient && canInstall) return { action: "apt", packages: [clientPackage] };
  return { action: "none" };
}

function advice(platform, hasCommand) {
  const manager = platform === "darwin" ? "brew" : ["apt", "dnf", "apk"].find((name) => hasCommand(name));
  const how = manager
    ? `run: ${commands[manager]}`
    : `install one (Debian, Ubuntu: ${commands.apt}; Fedora: ${commands.dnf}; Alpine: ${commands.apk}; macOS: ${commands.brew})`;
  return `no complete MariaDB or MySQL server was found; ${how}\nor set STOA_DATABASE_URL=mysql://… to use one that runs elsewhere`;
}

/** Makes sure that `findServer` finds a server, and if possible its client. @throws Error that says what to do */
export async function ensureServer() {
  const found = findServer();
  const hasClient = found !== undefined && findClient("dump", found.flavour) !== undefined;
  const root = process.getuid?.() === 0;
  const allowed = systemInstallAllowed(process.env);
  const { action, packages, message } = plan({
    found,
    hasClient,
    root,
    platform: process.platform,
    hasCommand,
    allowed,
  });
  if (action === "none") return;
  if (action === "tell") throw new Error(message);
  if (found !== undefined) return installClient(packages);
  await aptInstall(packages, "no database server was found");
  if (findServer() === undefined) throw new Error(`${packages.join(" and ")} are installed, but do not run here`);
}

/** The service can start without the client, for example while the machine has no network. */
async function installClient(packages) {
  try {
    await aptInstall(packages, "the database server has no client, which backups need");
  } catch (error) {
    say(`${error.message}\nThe service starts, but cannot be backed up until the client is installed.`);
  }
}
