// Installs the npm packages exactly as in the lock file. They include the pinned Node.js at node_modules/.bin/node.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { run, say } from "./run.mjs";
import { linkRuntime, pinnedRuntime, runtimeFault, runtimePackage, runtimePath } from "./runtime.mjs";
import { withSetupLock } from "./setup-lock.mjs";

/**
 * Installs the packages when they are missing or stale.
 * @throws Error with lines of npm's output, or when the installed runtime does not run here
 */
export async function ensurePackages(root) {
  const wanted = fingerprint(root);
  if (isReady(root, wanted)) return;
  await withSetupLock(root, async () => {
    if (isReady(root, wanted)) return;
    if (!isInstalled(root)) {
      say("installing the npm packages (npm ci)");
      await install(root);
    }
    if (runtimeFault(root)) linkRuntime(root);
    const fault = runtimeFault(root);
    if (fault) throw new Error(`${runtimePath(root)} ${fault}; remove node_modules and start again`);
    writeFileSync(stampPath(root), wanted);
  });
}

const stampPath = (root) => join(root, "node_modules", ".stoa-setup");
const readJson = (...path) => JSON.parse(readFileSync(join(...path), "utf8"));

/** Returns a hash that changes whenever the packages may need a new installation. */
function fingerprint(root) {
  const { dependencies, devDependencies, optionalDependencies, overrides, allowScripts } = readJson(
    root,
    "package.json",
  );
  const parts = [dependencies, devDependencies, optionalDependencies, overrides, allowScripts];
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .update(JSON.stringify([...parts, process.platform, process.arch]))
    .digest("hex");
}

function isReady(root, wanted) {
  const stamp = stampPath(root);
  return existsSync(stamp) && readFileSync(stamp, "utf8") === wanted && isWhole(root);
}

/** Returns whether all direct dependencies exist and the runtime runs. This detects a partly deleted or copied folder. */
function isWhole(root) {
  const { dependencies, devDependencies } = readJson(root, "package.json");
  const names = Object.keys({ ...dependencies, ...devDependencies });
  if (pinnedRuntime(root) !== undefined) names.push(runtimePackage());
  const there = names.every((name) => existsSync(join(root, "node_modules", name, "package.json")));
  return there && runtimeFault(root) === undefined;
}

/** Returns whether npm itself has already installed these packages, so that its record of them equals the lock file. */
function isInstalled(root) {
  try {
    const wanted = readJson(root, "package-lock.json").packages;
    const there = readJson(root, "node_modules", ".package-lock.json").packages;
    const agree = Object.entries(wanted).every(([path, entry]) => {
      if (path === "" || (entry.optional && !there[path])) return true;
      return there[path]?.version === entry.version && there[path]?.integrity === entry.integrity;
    });
    return agree && Object.keys(there).every((path) => wanted[path]) && isWhole(root);
  } catch {
    return false;
  }
}

async function install(root) {
  const [command, ...npm] = npmCommand();
  // Flags override the user's configuration and NODE_ENV=production. Tools and install scripts are both needed.
  const flags = ["--include=dev", "--include=optional", "--ignore-scripts=false", "--engine-strict=false"];
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  await run(command, [...npm, "ci", ...flags, ...quiet], { cwd: root, env: npmEnvironment(root) });
}

/** Returns the npm that runs this script, or the one on the PATH. */
function npmCommand() {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env;
  return cli && /npm-cli\.[cm]?js$/.test(cli) && existsSync(cli) ? [node ?? process.execPath, cli] : ["npm"];
}

/** Returns this process's environment without the variables of an outer npm run and without the runtime that is replaced. */
function npmEnvironment(root) {
  const ours =
    /^npm_(lifecycle|package|command)|^npm_config_(omit|only|production|dry_run|global|ignore_scripts|include)$/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
  const bin = resolve(root, "node_modules", ".bin");
  env.PATH = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => resolve(folder) !== bin)
    .join(delimiter);
  return env;
}
