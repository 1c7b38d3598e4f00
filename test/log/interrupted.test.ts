// Every step of publishing is interrupted: by a kill, and by a failure that was persisted or was not.
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import type { TestDatabase } from "../support/database.ts";
import { watchSteps } from "./steps.ts";
import { GrowingLog, key, never, temporaryFolder } from "./support.ts";

const program = fileURLToPath(new URL("./publish-and-die.ts", import.meta.url));

/** A log that has grown by 4 entries since its newest note. */
async function grownLog(before: number): Promise<{ log: GrowingLog; path: string; after: number }> {
  const log = await GrowingLog.begin();
  const path = temporaryFolder();
  const publisher = await log.publisher(path);
  await log.grow(before - 1);
  await publisher.publish(never);
  await publisher.stop();
  await log.grow(4);
  return { log, path, after: before + 4 };
}

const asBefore = async ({ rows }: TestDatabase, signed: number, note: string | null) =>
  rows("UPDATE log_head SET signed = ?, note = ?", [signed, note]);

/** What the folder has after an interruption: exactly the tree before, or exactly the one after. */
async function treeIn(path: string, log: GrowingLog, before: number, after: number): Promise<number> {
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

it("after a kill at any step, the folder has a whole tree, and the next start goes on from it", async () => {
  // Over the end of a file.
  const before = 65_534;
  const { log, path, after } = await grownLog(before);
  const { signed, note } = await log.head();
  expect(signed).toBe(before);
  const found = new Set<string>();
  // What is killed after a step is killed before the next one.
  for (let step = 1; ; step++) {
    const copy = temporaryFolder();
    cpSync(path, copy, { recursive: true });
    await asBefore(log.test, signed, note);
    const input = JSON.stringify({ database: log.test.config, path: copy, step });
    const flags = ["--disable-warning=ExperimentalWarning"];
    const { signal, stdout, stderr } = spawnSync(process.execPath, [...flags, program, input], { encoding: "utf8" });
    const size = await treeIn(copy, log, before, after);
    const inDatabase = (await log.head()).signed;
    found.add(`${size} ${inDatabase}`);
    // The database never has a note that the folder of its signer lacks.
    expect(inDatabase).toBeLessThanOrEqual(size);
    const next = await log.publisher(copy);
    await next.publish(never);
    expect([next.obstacle, next.tree?.size, (await log.head()).signed]).toEqual([undefined, after, after]);
    await next.stop();
    if (signal === null) {
      expect([stderr, Number(stdout)]).toEqual(["", step - 1]);
      break;
    }
  }
  expect([...found].sort()).toEqual([`${before} ${before}`, `${after} ${before}`, `${after} ${after}`].sort());
});

it("a step that fails, persisted or not, is done again by the next call, in the same process and after a start", async () => {
  const before = 9;
  const { log, path, after } = await grownLog(before);
  const { signed, note } = await log.head();
  const names = new Set<string>();
  for (let failing = 1, isOver = false; !isOver; failing++) {
    for (const when of ["before", "after"]) {
      const copy = temporaryFolder();
      cpSync(path, copy, { recursive: true });
      await asBefore(log.test, signed, note);
      const publisher = await log.publisher(copy);
      const fail = () => {
        throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
      };
      const end = await watchSteps(log.db, (name, number) => {
        if (number !== failing) return undefined;
        names.add(name);
        if (when === "before") fail();
        return { done: fail };
      });
      const failure = await publisher.publish(never).catch((error: Error) => error);
      if (end() < failing) {
        expect(failure).toBeUndefined();
        isOver = true;
      } else {
        // Some steps only tidy up after one that has failed.
        expect(failure === undefined || failure instanceof Error).toBe(true);
        expect([before, after]).toContain(publisher.tree?.size);
        expect((await log.head()).signed).toBeLessThanOrEqual(publisher.tree?.size as number);
        await publisher.publish(never);
        expect([publisher.tree?.size, (await log.head()).signed]).toEqual([after, after]);
      }
      await publisher.stop();
      expect(await treeIn(copy, log, before, after)).toBe(after);
    }
  }
  expect([...names].sort()).toEqual(["appendFile", "rename", "sync", "transaction", "truncate", "write"]);
});

it("the entries are on the disk before the checkpoint is, and that is before the note stands in the database", async () => {
  const log = await GrowingLog.begin();
  const publisher = await log.publisher(temporaryFolder());
  await publisher.publish(never);
  const batch = await log.grow(3);
  const names: string[] = [];
  const end = await watchSteps(log.db, (name) => {
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
