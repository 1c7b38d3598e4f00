// Debian's packages, installed without a question.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { run, say } from "./run.mjs";

/**
 * Whether the set-up may change the system outside this clone: install packages, create an account.
 * @throws Error when STOA_SETUP has a value that means nothing
 */
export function systemInstallAllowed({ STOA_SETUP: setting }) {
  if (setting === undefined || setting === "") return true;
  if (setting === "never") return false;
  throw new Error(`STOA_SETUP must be never or absent, not ${JSON.stringify(setting)}`);
}

/**
 * Says what it installs and why, then installs it; for root on a Debian-like machine.
 * @throws Error with apt-get's last lines
 */
export async function aptInstall(packages, reason) {
  say(`${reason}; installing by apt-get: ${packages.join(", ")} (STOA_SETUP=never forbids this)`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
  const apt = (...args) => run("apt-get", ["-q", "-y", "-o", "DPkg::Lock::Timeout=300", ...args], { env });
  // Rather fail than take away a package of the user's that does not go together with these.
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
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
