import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A small separate disk. */
export interface SmallDisk {
  /** A folder on it that every account may enter. */
  folder: string;
  /** Fills the disk until this many MiB are left; 0 takes the last block. It frees what it took before. */
  fillTo(freeMiB: number): void;
  /** Frees the space that `fillTo` took. */
  empty(): void;
  remove(): void;
}

/** Mounts a disk in memory. @throws Error if this account may not mount disks */
export function mountSmallDisk(sizeMiB: number): SmallDisk {
  const folder = join(mkdtempSync(join(tmpdir(), "stoa-disk-")), "disk");
  mkdirSync(folder);
  chmodSync(join(folder, ".."), 0o755);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMiB}m`, "tmpfs", folder], { stdio: "pipe" });
  const ballast = join(folder, "ballast");
  const empty = () => rmSync(ballast, { force: true });
  return {
    folder,
    fillTo(freeMiB) {
      empty();
      // Fill the disk first, then shrink the file. The size cannot be computed in advance, because other programs write too.
      spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=1M"], { stdio: "ignore" });
      if (freeMiB > 0) execFileSync("truncate", ["--size", `-${freeMiB}M`, ballast]);
    },
    empty,
    remove() {
      execFileSync("umount", [folder]);
      rmSync(join(folder, ".."), { recursive: true });
    },
  };
}

/** Returns whether this machine forbids tests to mount a disk. Then these tests fail in CI and are skipped with a notice elsewhere. */
export function maySkipSmallDisk(): boolean {
  const { status } = spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
  if (status === 0 || process.env.CI) return false;
  process.stderr.write("\nSKIPPED: the tests of a full disk need an account that may mount one (root).\n\n");
  return true;
}
