import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import type { Publisher, PublisherOptions } from "../../src/log/publisher/publisher.ts";
import { type Outcome, operateWith } from "../operator/support.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { interrupt, interruptions } from "./steps.ts";
import { GrowingLog, key, laterEntry, never } from "./support.ts";

/** What fsck says with a copy of a log folder, after a change. */
export async function fsckCopy(
  { test }: GrowingLog,
  path: string,
  change: (folder: string) => void = () => {},
): Promise<Outcome> {
  const dataDir = scratchFolder();
  const folder = join(dataDir, "log");
  cpSync(path, folder, { recursive: true });
  change(folder);
  const outcome = await operateWith({ STOA_DATABASE_URL: urlOf(test.config), STOA_DATA_DIR: dataDir }, ["fsck"]);
  expect(outcome.status).toBe(outcome.out.length > 0 ? 1 : 0);
  return outcome;
}

/** Changes a text in a file, once. */
export const replaceIn = (path: string, from: string, to: string): void =>
  writeFileSync(path, readFileSync(path, "latin1").replace(from, to), "latin1");

/** A log that has grown by 4 entries since its newest note, and the folder of its signer. */
export class GrownLog {
  readonly log: GrowingLog;
  readonly path = scratchFolder();
  readonly before: number;
  #head: { signed: number; note: string | null } = { signed: 0, note: null };

  static async of(before: number): Promise<GrownLog> {
    const grown = new GrownLog(await GrowingLog.begin(), before);
    const publisher = await grown.log.publisher(grown.path);
    await publisher.publish(never);
    // The publisher need not read them from the database.
    await publisher.publish(never, await grown.log.grow(before - 1, laterEntry));
    await publisher.stop();
    grown.#head = await grown.log.head();
    await grown.log.grow(4, laterEntry);
    return grown;
  }

  constructor(log: GrowingLog, before: number) {
    this.log = log;
    this.before = before;
  }

  get after(): number {
    return this.before + 4;
  }

  copy(path = this.path): string {
    const copy = scratchFolder();
    cpSync(path, copy, { recursive: true });
    return copy;
  }

  /** Sets the note of the database. */
  note({ signed, note } = this.#head): Promise<unknown> {
    return this.log.test.rows("UPDATE log_head SET signed = ?, note = ?", [signed, note]);
  }

  /** Checks that a folder has a whole tree, the one before or the one after, and that a start goes on from it. @returns its size */
  async goOn(path: string, options?: Partial<PublisherOptions>): Promise<number> {
    const publisher = await this.log.publisher(path, options);
    const size = publisher.tree?.size ?? 0;
    await publisher.publish(never);
    const { signed } = await this.log.head();
    expect([publisher.obstacle, publisher.tree?.size, signed]).toEqual([undefined, this.after, this.after]);
    await publisher.stop();
    return size;
  }

  /** Checks that a folder has exactly the entries of a tree, from one on. */
  async expectEntries(path: string, from: number, size: number): Promise<void> {
    const folder = await LogFolder.open(path, key);
    expect(folder.tree?.size).toBe(size);
    const stored: string[] = [];
    for await (const entries of folder.entries(from, size))
      stored.push(...entries.map((each) => String(Buffer.from(each))));
    const sql = "SELECT entry FROM log_entries WHERE idx >= ? AND idx < ? ORDER BY idx";
    const rows = await this.log.test.rows<{ entry: string }>(sql, [from, size]);
    expect(stored).toEqual(rows.map(({ entry }) => entry));
    folder.close();
  }

  /**
   * Interrupts each step of publishing in turn, in each way.
   * @param start makes a publisher with a folder of its own
   * @param sizes of the trees that a folder may have then
   * @param from the first entry that the folder has in the end, or another one
   * @returns the names of the steps
   */
  async interruptEach(
    start: (path: string) => Promise<Publisher>,
    sizes: readonly number[],
    from: number,
    options?: Partial<PublisherOptions>,
  ): Promise<string[]> {
    const names = new Set<string>();
    for (let step = 1, isOver = false; !isOver; step++) {
      for (const how of interruptions) {
        const path = scratchFolder();
        const publisher = await start(path);
        const end = await interrupt(how, step, names);
        // Some steps only tidy up after one that has failed.
        const failure = await publisher.publish(never).catch((error: Error) => error);
        if (how === "killed") await publisher.stop();
        isOver = end() < step;
        if (isOver) expect(failure).toBeUndefined();
        else if (how === "killed") expect(sizes).toContain(await this.goOn(path, options));
        else {
          expect(sizes).toContain(publisher.tree?.size ?? 0);
          await publisher.publish(never);
          expect([publisher.tree?.size, (await this.log.head()).signed]).toEqual([this.after, this.after]);
        }
        await publisher.stop();
        await this.expectEntries(path, from, this.after);
      }
    }
    return [...names].sort();
  }
}
