// The Node.js that runs the service: on Linux the platform package of package.json, which the lock file pins by checksum;
// where there is none (macOS, musl) the machine's own.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { say } from "./run.mjs";

/** The oldest version that knows all that the service uses. */
const oldest = "24.9.0";
/** The packages are made for glibc; without its loader they do not run. */
const loaders = { x64: "/lib64/ld-linux-x86-64.so.2", arm64: "/lib/ld-linux-aarch64.so.1" };

export const runtimePath = (root) => join(root, "node_modules", ".bin", "node");

/** The npm package that holds the runtime for a platform. */
export const runtimePackage = ({ platform, arch } = process) => `node-${platform}-${arch}`;

/** The version of the platform package for this machine; undefined where there is none that runs here. */
export function pinnedRuntime(root, machine = process, hasFile = existsSync) {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return hasFile(loaders[machine.arch] ?? "") ? optionalDependencies?.[runtimePackage(machine)] : undefined;
}

/** What is wrong with the installed runtime; undefined when nothing is. */
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
 * Puts the runtime at node_modules/.bin/node: the platform package's (npm 10 does not link what an optional package
 * brings for one platform only), or where there is none the Node.js that runs this set-up.
 * @throws Error when that is too old
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
