// The Node.js that runs the service. On Linux it is the platform package of package.json, which the lock file pins by checksum.
// Elsewhere (macOS, musl) it is the machine's own Node.js.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { say } from "./run.mjs";

/** The oldest version with all the features that the service uses. */
const oldest = "24.9.0";
/** The packages are built for glibc and need its loader. */
const loaders = { x64: "/lib64/ld-linux-x86-64.so.2", arm64: "/lib/ld-linux-aarch64.so.1" };

export const runtimePath = (root) => join(root, "node_modules", ".bin", "node");

/** Returns the npm package with the runtime for a platform. */
export const runtimePackage = ({ platform, arch } = process) => `node-${platform}-${arch}`;

/** Returns the version of the platform package for this machine; undefined if no package runs here. */
export function pinnedRuntime(root, machine = process, hasFile = existsSync) {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return hasFile(loaders[machine.arch] ?? "") ? optionalDependencies?.[runtimePackage(machine)] : undefined;
}

/** Returns what is wrong with the installed runtime; undefined if it is right. */
export function runtimeFault(root) {
  const pinned = pinnedRuntime(root);
  try {
    const found = execFileSync(runtimePath(root), ["--version"], { encoding: "utf8", stdio: "pipe" }).trim().slice(1);
    if (pinned === undefined ? !isOlder(found) : found === pinned) return undefined;
    return `is Node.js ${found}, not ${pinned ?? `${oldest} or newer`}`;
  } catch (error) {
    return `does not run (${error.code ?? error.message.split("\n")[0]})`;
  }
}

/**
 * Links the runtime at node_modules/.bin/node. That is the platform package's, because npm 10 does not link the programs of
 * optional packages for one platform. Without such a package it is the Node.js that runs this set-up.
 * @throws Error when that Node.js is too old
 */
export function linkRuntime(
  root,
  { execPath, version } = { execPath: process.execPath, version: process.versions.node },
) {
  const path = runtimePath(root);
  let target = join("..", runtimePackage(), "bin", "node");
  if (pinnedRuntime(root) === undefined) {
    if (isOlder(version)) {
      throw new Error(
        `there is no packaged Node.js for this machine; install Node.js ${oldest} or newer (this is ${version})`,
      );
    }
    say(`no packaged Node.js for this machine: using ${execPath} (${version})`);
    target = execPath;
  }
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  symlinkSync(target, path);
}

function isOlder(version) {
  const [major, minor] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = oldest.split(".").map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}
