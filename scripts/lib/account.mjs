// The account that the service and its database server run as where root starts them.
import { readFileSync } from "node:fs";
import { hasCommand, systemInstallAllowed } from "./apt.mjs";
import { run, say } from "./run.mjs";

const name = "stoa";

/** Whether an account must be made for this machine: root starts the service on Linux, and there is none yet. */
export function needsAccount({ root, platform, passwd, hasCommand, allowed }) {
  const exists = passwd.split("\n").some((line) => line.startsWith(`${name}:`));
  return allowed && root && platform === "linux" && !exists && hasCommand("useradd");
}

/** Makes the account where it is needed. Without it the service falls back to one that others may share. */
export async function ensureAccount() {
  const root = process.getuid?.() === 0;
  const { platform } = process;
  const allowed = systemInstallAllowed(process.env);
  if (!root || !needsAccount({ root, platform, passwd: readPasswd(), hasCommand, allowed })) return;
  say(
    `this is root; making the system account ${name} to run the service and its database (STOA_SETUP=never forbids this)`,
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
    // Two set-ups at once, or a system whose accounts cannot be changed.
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
