// A log whose newest tree is about to be published, and what a folder has after that was interrupted.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import type { TestDatabase } from "../support/database.ts";
import type { At } from "./steps.ts";
import { GrowingLog, key, never, temporaryFolder } from "./support.ts";

/** A log that has grown by 4 entries since its newest note. */
export async function grownLog(before: number): Promise<{ log: GrowingLog; path: string; after: number }> {
  const log = await GrowingLog.begin();
  const path = temporaryFolder();
  const publisher = await log.publisher(path);
  await log.grow(before - 1);
  await publisher.publish(never);
  await publisher.stop();
  await log.grow(4);
  return { log, path, after: before + 4 };
}

/** Sets the head of the log back, to be published once more. */
export const asBefore = async ({ rows }: TestDatabase, signed: number, note: string | null) =>
  rows("UPDATE log_head SET signed = ?, note = ?", [signed, note]);

const program = fileURLToPath(new URL("./publish-and-die.ts", import.meta.url));

/**
 * Starts a replica with the key, in a process of its own, which publishes the newest tree and is killed before a step.
 * @returns how many steps there were, if it was not killed
 */
export function publishAndDie(log: GrowingLog, path: string, at: At): number | undefined {
  const input = JSON.stringify({ database: log.test.config, path, at });
  const args = ["--disable-warning=ExperimentalWarning", program, input];
  const { signal, status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (signal === "SIGKILL") return undefined;
  expect([status, stderr]).toEqual([0, ""]);
  return Number(stdout);
}

/** Appends what the folder lacks, and no checkpoint, as a publisher does that is killed before it signs. */
export async function extendUnsigned(log: GrowingLog, path: string): Promise<void> {
  const folder = await LogFolder.open(path, key);
  const extension = folder.extend();
  const sql = "SELECT entry FROM log_entries WHERE idx >= ? ORDER BY idx";
  const rows = await log.test.rows<{ entry: string }>(sql, [folder.size]);
  await extension.append(rows.map(({ entry }) => Buffer.from(entry)));
  await extension.sync();
  folder.close();
}

/**
 * What the folder has after an interruption: exactly the tree before, or exactly the one after.
 * @param from the first entry to compare
 */
export async function treeIn(
  path: string,
  log: GrowingLog,
  [before, after]: readonly [number, number],
  from = before - 2,
): Promise<number> {
  const folder = await LogFolder.open(path, key);
  const size = folder.tree?.size ?? 0;
  expect([before, after]).toContain(size);
  const stored: string[] = [];
  for await (const entries of folder.entries(from, size))
    stored.push(...entries.map((each) => String(Buffer.from(each))));
  const sql = "SELECT entry FROM log_entries WHERE idx >= ? AND idx < ? ORDER BY idx";
  const rows = await log.test.rows<{ entry: string }>(sql, [from, size]);
  expect(stored).toEqual(rows.map(({ entry }) => entry));
  folder.close();
  return size;
}
