// A log whose newest tree is about to be published, and what a folder has after that was interrupted.
import { expect } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import type { TestDatabase } from "../support/database.ts";
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

/** What the folder has after an interruption: exactly the tree before, or exactly the one after. */
export async function treeIn(path: string, log: GrowingLog, before: number, after: number): Promise<number> {
  const folder = await LogFolder.open(path, key);
  const size = folder.tree?.size ?? 0;
  expect([before, after]).toContain(size);
  const stored: string[] = [];
  for await (const entries of folder.entries(before - 2, size))
    stored.push(...entries.map((each) => String(Buffer.from(each))));
  const sql = "SELECT entry FROM log_entries WHERE idx >= ? AND idx < ? ORDER BY idx";
  const rows = await log.test.rows<{ entry: string }>(sql, [before - 2, size]);
  expect(stored).toEqual(rows.map(({ entry }) => entry));
  folder.close();
  return size;
}
