import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterFile } from "./after-file.ts";

/** A new folder, which is removed after the last test of the file. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stoa-test-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
