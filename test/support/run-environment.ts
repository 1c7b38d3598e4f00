// The environment of all processes of a run: a temporary folder in memory and a cache of compiled code. Every service in the
// tests writes files and creates tables, and would wait for the disk most of the time. A killed process loses nothing in
// such a folder. Only a power cut would.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { nodeEnvironment } from "./node-environment.ts";

const memoryDisk = "/dev/shm";
/** About four times the space that a run uses, in bytes. */
const minFreeBytes = 8 * 2 ** 30;

/** Changes the environment before the workers start. The temporary folder is removed after the run. */
export default function setup(): () => void {
  process.env.NODE_COMPILE_CACHE ??= nodeEnvironment.NODE_COMPILE_CACHE;
  const folder = makeFolder();
  if (folder === undefined) return () => {};
  process.env.TMPDIR = folder;
  return () => {
    delete process.env.TMPDIR;
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Creates a folder in memory; undefined if the machine has no room, or if TMPDIR already names another place. */
function makeFolder(): string | undefined {
  if (process.env.TMPDIR !== undefined || process.platform !== "linux" || !hasRoom()) return undefined;
  const folder = mkdtempSync(join(memoryDisk, "stoa-test-"));
  // Services that root starts give their files to another account, which must be able to reach them.
  chmodSync(folder, 0o1777);
  if (mayExecute(folder)) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryDisk);
    return Math.min(bavail * bsize, freemem()) > minFreeBytes;
  } catch {
    return false;
  }
}

/** Whether programs may run there. Tests run programs from temporary folders, which containers often forbid. */
function mayExecute(folder: string): boolean {
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}
