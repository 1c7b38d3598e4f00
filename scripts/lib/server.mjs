// The private database needs a MariaDB or MySQL server on this machine.
import { findServer } from "../../src/private-database/server/find-server.mjs";
import { aptInstall, hasCommand, systemInstallAllowed } from "./apt.mjs";

// The second package contains my_print_defaults, which mariadb-install-db calls.
const debianPackages = ["mariadb-server-core", "mariadb-client-core"];
const commands = {
  apt: `sudo apt-get install --no-install-recommends ${debianPackages.join(" ")}`,
  dnf: "sudo dnf install mariadb-server",
  apk: "sudo apk add mariadb",
  brew: "brew install mariadb",
};

/** Returns whether a server will be started here. The service starts one if it has no other; the tests always start one. */
export function needsServer(purpose, env) {
  return purpose === "test" || !env.STOA_DATABASE_URL;
}

/**
 * Returns what to do about the server: nothing, install it, or tell the user how.
 * @param allowed whether the set-up may install system packages
 */
export function plan({ found, root, platform, hasCommand, allowed }) {
  if (found) return { action: "none" };
  if (allowed && platform === "linux" && root && hasCommand("apt-get")) return { action: "apt" };
  return { action: "tell", message: advice(platform, hasCommand) };
}

function advice(platform, hasCommand) {
  const manager = platform === "darwin" ? "brew" : ["apt", "dnf", "apk"].find((name) => hasCommand(name));
  const how = manager
    ? `run: ${commands[manager]}`
    : `install one (Debian, Ubuntu: ${commands.apt}; Fedora: ${commands.dnf}; Alpine: ${commands.apk}; macOS: ${commands.brew})`;
  return `no complete MariaDB or MySQL server was found; ${how}\nor set STOA_DATABASE_URL=mysql://… to use one that runs elsewhere`;
}

/** Makes sure that `findServer` finds a server. @throws Error that says what to do */
export async function ensureServer() {
  const found = findServer() !== undefined;
  const root = process.getuid?.() === 0;
  const allowed = systemInstallAllowed(process.env);
  const { action, message } = plan({ found, root, platform: process.platform, hasCommand, allowed });
  if (action === "none") return;
  if (action === "tell") throw new Error(message);
  await aptInstall(debianPackages, "no database server was found");
  if (findServer() === undefined) throw new Error(`${debianPackages.join(" and ")} are installed, but do not run here`);
}
