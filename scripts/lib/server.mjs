// The embedded database needs a MariaDB or MySQL server on this machine.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { findServer } from "../../src/store/private-server/find.mjs";
import { run, say } from "./run.mjs";

// Debian keeps my_print_defaults, which mariadb-install-db calls, in the second package.
const debianPackages = ["mariadb-server-core", "mariadb-client-core"];
const commands = {
  apt: `sudo apt-get install --no-install-recommends ${debianPackages.join(" ")}`,
  dnf: "sudo dnf install mariadb-server",
  apk: "sudo apk add mariadb",
  brew: "brew install mariadb",
};

/** Whether the service, or its tests, will start a database of their own. */
export function needsServer(purpose, env) {
  return !env.STOA_DATABASE_URL && !(purpose === "test" && env.STOA_TEST_DATABASE_URL);
}

/** What to do about the server: nothing, install it, or tell the user how. */
export function plan({ found, root, platform, hasCommand }) {
  if (found) return { action: "none" };
  if (platform === "linux" && root && hasCommand("apt-get")) return { action: "apt" };
  return { action: "tell", message: advice(platform, hasCommand) };
}

function advice(platform, hasCommand) {
  const manager = platform === "darwin" ? "brew" : ["apt", "dnf", "apk"].find((name) => hasCommand(name));
  const how = manager
    ? `run: ${commands[manager]}`
    : `install one (Debian, Ubuntu: ${commands.apt}; Fedora: ${commands.dnf}; Alpine: ${commands.apk}; macOS: ${commands.brew})`;
  return `no complete MariaDB or MySQL server was found; ${how}\nor set STOA_DATABASE_URL=mysql://… to use one that runs elsewhere`;
}

/** Makes sure that `findServer` finds one. Throws an Error that says what to do when it cannot. */
export async function ensureServer() {
  const found = findServer() !== undefined;
  const { action, message } = plan({ found, root: process.getuid?.() === 0, platform: process.platform, hasCommand });
  if (action === "none") return;
  if (action === "tell") throw new Error(message);
  say(`no database server found: installing ${debianPackages.join(" and ")} by apt-get`);
  await aptInstall();
  if (findServer() === undefined) throw new Error(`${debianPackages.join(" and ")} are installed, but do not run here`);
}

async function aptInstall() {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
  const apt = (...args) => run("apt-get", ["-q", "-y", "-o", "DPkg::Lock::Timeout=300", ...args], { env });
  // Rather fail than take away a package of the user's that does not go together with these.
  const install = () => apt("install", "--no-install-recommends", "--no-remove", ...debianPackages);
  try {
    await install();
  } catch {
    // The package lists are missing (as in a fresh container) or out of date.
    await apt("update");
    await install();
  }
}

function hasCommand(name) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
