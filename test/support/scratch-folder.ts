// Puts the run's temporary files into memory: every service of the tests keeps files of its own and makes tables, and would
// wait for the disk most of the time. A killed process loses nothing by that; only a power cut would show the difference.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

const memoryDisk = "/dev/shm";
/** What a run uses at most, about four times over; in bytes. */
const minFreeBytes = 8 * 2 ** 30;

/** Has `tmpdir()` be a folder of the run's own in memory, where the machine has room for it; the folder goes with the run. */
export default function setup(): (() => void) | undefined {
  const folder = makeFolder();
  if (folder === undefined) return undefined;
  // The workers, which are started later, inherit it.
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true });
  };
}

function makeFolder(): string | undefined {
  if (process.env.TMPDIR !== undefined || process.platform !== "linux" || !hasRoom()) return undefined;
  const folder = mkdtempSync(join(memoryDisk, "stoa-test-"));
  // Services that root starts give their files to another account, which has to get there.
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

/** Tests run programs from temporary folders. Containers often mount the disk such that none can be. */
function mayExecute(folder: string): boolean {
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}
