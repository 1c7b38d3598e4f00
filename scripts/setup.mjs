// Prepares this clone to run. It installs only what is missing. npm runs it before start and test.
// It is plain JavaScript for Node.js 20, because it runs before anything is installed.
//   node scripts/setup.mjs [start|test]     the command to prepare for; default: the one that npm is about to run
// STOA_SETUP=never forbids changes to the system outside this folder. The script then names what is missing.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureAccount } from "./lib/account.mjs";
import { ensurePackages } from "./lib/packages.mjs";
import { ensureServer, needsServer } from "./lib/server.mjs";
import { ensureTools } from "./lib/tools.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const purpose = process.argv[2] ?? (process.env.npm_lifecycle_event === "pretest" ? "test" : "start");

/**
 * npm on an older Node.js silently skips optional packages that require a newer one. The tests then lack their native parts.
 * @throws Error when this Node.js is too old to install the packages
 */
function checkNode(version) {
  const [major, minor] = version.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) return;
  throw new Error(
    `this is Node.js ${version}; installing the packages, which include a newer Node.js, needs 20.19, 22.12 or newer`,
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
