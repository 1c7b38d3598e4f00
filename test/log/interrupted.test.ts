// Every step of publishing is interrupted. The folder then has a whole tree, and the next call or start goes on from it.
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import type { Publisher, PublisherOptions } from "../../src/log/publisher/publisher.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { interrupt, interruptions, watchSteps } from "./steps.ts";
import { GrowingLog, key, never } from "./support.ts";

/** A log that has grown by 4 entries since its newest note, and the folder of its signer. */
class GrownLog {
  readonly log: GrowingLog;
  readonly path = scratchFolder();
  readonly before: number;
  #head: { signed: number; note: string | null } = { signed: 0, note: null };

  static async of(before: number): Promise<GrownLog> {
    const grown = new GrownLog(await GrowingLog.begin(), before);
    const publisher = await grown.log.publisher(grown.path);
    await grown.log.grow(before - 1);
    await publisher.publish(never);
    await publisher.stop();
    grown.#head = await grown.log.head();
    await grown.log.grow(4);
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

it("an interrupted step is done again by the next call, in the same process and after a start", async () => {
  const grown = await GrownLog.of(9);
  const start = async (path: string) => {
    cpSync(grown.path, path, { recursive: true });
    await grown.note();
    return grown.log.publisher(path);
  };
  const names = await grown.interruptEach(start, [9, 13], 0);
  expect(names).toEqual(["appendFile", "rename", "sync", "transaction", "truncate", "write"]);
});

it("the entries are on the disk before the checkpoint is, and that is before the note stands in the database", async () => {
  const log = await GrowingLog.begin();
  const publisher = await log.publisher(scratchFolder());
  await publisher.publish(never);
  const batch = await log.grow(3);
  const names: string[] = [];
  const end = await watchSteps((name) => {
    names.push(name);
    return undefined;
  });
  await publisher.publish(never, batch);
  end();
  // The entries; the checkpoint aside, its rename and the folder; the note.
  const entries = ["truncate", "write", "sync"];
  const checkpoint = ["appendFile", "sync", "rename", "sync"];
  expect(names).toEqual([...entries, ...checkpoint, "transaction"]);
});

describe("over the end of a file of 65,536 entries", () => {
  const [before, after] = [65_534, 65_538];
  let grown: GrownLog;
  beforeAll(async () => {
    grown = await GrownLog.of(before);
  });

  it("a publisher that is killed at any step has the tree before or the one after", async () => {
    await grown.note();
    const path = grown.copy();
    const publisher = await grown.log.publisher(path);
    // What the folder has before a step is what a kill leaves there. The note of the database is the last step.
    const copies: string[] = [];
    let last = "";
    const end = await watchSteps((name) => {
      // Only a power cut makes a difference to what was not yet synchronized.
      if (last !== "sync") copies.push(grown.copy(path));
      last = name;
      return undefined;
    });
    await publisher.publish(never);
    end();
    await publisher.stop();
    const sizes: number[] = [];
    for (const copy of copies) {
      await grown.note();
      sizes.push(await grown.goOn(copy));
    }
    expect([...new Set(sizes)]).toEqual([before, after]);
    await grown.expectEntries(path, before - 2, after);
  });

  it("a start that fails while it drops entries beyond the checkpoint leaves the rest to the next one", async () => {
    // As a publisher leaves it that is killed before it signs.
    const path = grown.copy();
    const folder = await LogFolder.open(path, key);
    const extension = folder.extend();
    const rows = await grown.log.test.rows<{ entry: string }>(
      "SELECT entry FROM log_entries WHERE idx >= ? ORDER BY idx",
      [before],
    );
    await extension.append(rows.map(({ entry }) => Buffer.from(entry)));
    await extension.sync();
    folder.close();
    const names = new Set<string>();
    for (let step = 1, isOver = false; !isOver; step++) {
      const copy = grown.copy(path);
      const end = await interrupt("before", step, names);
      const opened = await LogFolder.open(copy, key).catch((error: Error) => error);
      isOver = end() < step;
      expect(opened instanceof LogFolder).toBe(isOver);
      const next = opened instanceof LogFolder ? opened : await LogFolder.open(copy, key);
      expect(next.tree?.size).toBe(before);
      next.close();
      expect(readdirSync(join(copy, "entries")).sort()).toEqual(["000000", "000000.range"]);
    }
    expect([...names].sort()).toEqual(["rm", "truncate"]);
  });

  it("a new replica whose copy of the log is interrupted at any step begins it again, from the newest file on", async () => {
    await grown.note();
    await grown.goOn(grown.copy());
    const signed = await grown.log.head();
    const keyless = { signer: undefined };
    const start = async (path: string) => {
      await grown.note({ signed: 0, note: null });
      const publisher = await grown.log.publisher(path, keyless);
      await grown.note(signed);
      return publisher;
    };
    const names = await grown.interruptEach(start, [0, after], 65_536, keyless);
    expect(names).toEqual(["appendFile", "rename", "sync", "truncate", "write"]);
    // It knows what comes before from the tiles of the database, of three levels, which must lead to the root.
    const path = scratchFolder();
    await grown.goOn(path, keyless);
    expect(readdirSync(join(path, "entries")).sort()).toEqual(["000001", "000001.range"]);
  });
});
