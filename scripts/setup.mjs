// Makes this clone ready to run, and changes nothing that is already right. Called by npm before start and test.
// Plain JavaScript for Node 20: it runs before anything is installed.
//   node scripts/setup.mjs [start|test]     what to be ready for; default: what npm is about to run
// STOA_SETUP=never forbids whatever changes the system outside this folder: what is missing is named instead.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureAccount } from "./lib/account.mjs";
import { ensurePackages } from "./lib/packages.mjs";
import { ensureServer, needsServer } from "./lib/server.mjs";
import { ensureTools } from "./lib/tools.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const purpose = process.argv[2] ?? (process.env.npm_lifecycle_event === "pretest" ? "test" : "start");

/**
 * An older npm's Node leaves out, without a word, the optional packages that say they need a newer one; the tests then lack
 * their native parts.
 * @throws Error where this Node is too old to install with
 */
function checkNode(version) {
  const [major, minor] = version.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) return;
  throw new Error(
    `this is Node.js ${version}; to install its packages (its own runtime is one) it takes 20.19, 22.12 or newer`,
  );
}

try {
  checkNode(process.versions.node);
  await ensurePackages(root);
  if (needsServer(purpose, process.env)) {
    await ensureServer();
    await ensureAccount();
  }
  if (purpose === "test") await ensureTools();
} catch (error) {
  console.error(`stoa set-up: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
