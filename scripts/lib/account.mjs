// The system account that runs the service and its database server when root starts them.
import { readFileSync } from "node:fs";
import { hasCommand, systemInstallAllowed } from "./apt.mjs";
import { run, say } from "./run.mjs";

const name = "stoa";

/** Returns whether the account must be created: root starts the service on Linux, and the account does not exist. */
export function needsAccount({ root, platform, passwd, hasCommand, allowed }) {
  const exists = passwd.split("\n").some((line) => line.startsWith(`${name}:`));
  return allowed && root && platform === "linux" && !exists && hasCommand("useradd");
}

/** Creates the account if it is needed. Without it the service uses an account that other programs may share. */
export async function ensureAccount() {
  const root = process.getuid?.() === 0;
  const { platform } = process;
  const allowed = systemInstallAllowed(process.env);
  if (!root || !needsAccount({ root, platform, passwd: readPasswd(), hasCommand, allowed })) return;
  say(
    `this is root; creating the system account ${name} to run the service and its database (STOA_SETUP=never forbids this)`,
  );
  const settings = [
    "--system",
    "--user-group",
    "--no-create-home",
    "--home-dir=/nonexistent",
    "--shell=/usr/sbin/nologin",
  ];
  try {
    await run("useradd", [...settings, "--comment=Stoa", name]);
  } catch (error) {
    // Another set-up has created the account, or the accounts of this system cannot be changed.
    if (!readPasswd().includes(`\n${name}:`)) say(`${error.message}\n  the account mysql or nobody is used instead`);
  }
}

function readPasswd() {
  try {
    return readFileSync("/etc/passwd", "utf8");
  } catch {
    return "";
  }
}
