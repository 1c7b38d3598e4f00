// The tests run the README's commands in a shell; these are the tools that they call besides npm's.
import { aptInstall, hasCommand } from "./apt.mjs";
import { say } from "./run.mjs";

const tools = ["curl", "jq"];

/** Makes sure that the tools are there. @throws Error that says what to install */
export async function ensureTools() {
  const missing = tools.filter((name) => !hasCommand(name));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !hasCommand("apt-get"))
    throw new Error(`the tests need ${missing.join(" and ")}; install them`);
  say(`installing ${missing.join(" and ")} by apt-get, for the tests`);
  await aptInstall(missing);
}
