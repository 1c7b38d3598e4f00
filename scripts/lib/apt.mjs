// Installs Debian packages without asking.
import { delimiter, join } from "node:path";
import { isExecutable } from "../../src/process/programs.mjs";
import { run, say } from "./run.mjs";

/**
 * Returns whether the set-up may change the system outside this clone: install packages, create an account.
 * @throws Error when STOA_SETUP has an unknown value
 */
export function systemInstallAllowed({ STOA_SETUP: setting }) {
  if (setting === undefined || setting === "") return true;
  if (setting === "never") return false;
  throw new Error(`STOA_SETUP must be never or absent, not ${JSON.stringify(setting)}`);
}

/**
 * Names the packages and the reason, then installs them. It needs root and apt-get.
 * @throws Error with the last lines of apt-get's output
 */
export async function aptInstall(packages, reason) {
  say(`${reason}; installing by apt-get: ${packages.join(", ")} (STOA_SETUP=never forbids this)`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
  const apt = (...args) => run("apt-get", ["-q", "-y", "-o", "DPkg::Lock::Timeout=300", ...args], { env });
  // A conflict must fail: without --no-remove, apt-get would remove packages of the user.
  const install = () => apt("install", "--no-install-recommends", "--no-remove", ...packages);
  try {
    await install();
  } catch {
    // The package lists are missing (as in a fresh container) or out of date.
    await apt("update");
    await install();
  }
}

export function hasCommand(name) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => isExecutable(join(folder, name)));
}
