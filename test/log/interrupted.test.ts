// Every step of publishing fails, and what failed was persisted or was not. killed.test.ts kills at every step.
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import type { Publisher } from "../../src/log/publisher/publisher.ts";
import { asBefore, extendUnsigned, grownLog, treeIn } from "./interruption.ts";
import { watchSteps } from "./steps.ts";
import { GrowingLog, key, never, temporaryFolder } from "./support.ts";

/**
 * Publishes a tree of `after` entries while each step fails in turn, before it is done and after. The next call does it again.
 * @param start makes a publisher with a folder of its own, which has the tree of `before` entries
 * @param from the first entry that the folder has, or another one
 * @returns the names of the steps
 */
async function failAtEachStep(
  log: GrowingLog,
  start: (path: string) => Promise<Publisher>,
  [before, after]: readonly [number, number],
  from?: number,
): Promise<string[]> {
  const names = new Set<string>();
  for (let failing = 1, isOver = false; !isOver; failing++) {
    for (const when of ["before", "after"]) {
      const path = temporaryFolder();
      const publisher = await start(path);
      const end = await watchSteps((name, number) => {
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
        expect([before, after]).toContain(publisher.tree?.size ?? 0);
        await publisher.publish(never);
        expect([publisher.tree?.size, (await log.head()).signed]).toEqual([after, after]);
      }
      await publisher.stop();
      expect(await treeIn(path, log, [before, after], from)).toBe(after);
    }
  }
  return [...names].sort();
}

const fail = (): never => {
  throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
};

it("a step that fails, persisted or not, is done again by the next call, in the same process and after a start", async () => {
  const before = 9;
  const { log, path, after } = await grownLog(before);
  const { signed, note } = await log.head();
  const start = async (copy: string) => {
    cpSync(path, copy, { recursive: true });
    await asBefore(log.test, signed, note);
    return log.publisher(copy);
  };
  const names = await failAtEachStep(log, start, [before, after]);
  expect(names).toEqual(["appendFile", "rename", "sync", "transaction", "truncate", "write"]);
});

it("a new replica whose copy of the log fails at any step begins it again", async () => {
  // It copies from the newest file on.
  const { log, path, after } = await grownLog(65_536);
  const signer = await log.publisher(path);
  await signer.publish(never);
  await signer.stop();
  const { signed, note } = await log.head();
  expect(signed).toBe(after);
  const start = async (copy: string) => {
    await asBefore(log.test, 0, null);
    const publisher = await log.publisher(copy, { signer: undefined });
    await asBefore(log.test, signed, note);
    return publisher;
  };
  const names = await failAtEachStep(log, start, [0, after], 65_536);
  expect(names).toEqual(["appendFile", "rename", "sync", "truncate", "write"]);
});

it("a start that fails while it drops entries beyond the checkpoint leaves the rest to the next one", async () => {
  const { log, path } = await grownLog(65_534);
  await extendUnsigned(log, path);
  const names = new Set<string>();
  for (let failing = 1, isOver = false; !isOver; failing++) {
    for (const when of ["before", "after"]) {
      const copy = temporaryFolder();
      cpSync(path, copy, { recursive: true });
      const end = await watchSteps((name, number) => {
        if (number !== failing) return undefined;
        names.add(name);
        if (when === "before") fail();
        return { done: fail };
      });
      const opened = await LogFolder.open(copy, key).catch((error: Error) => error);
      isOver = end() < failing;
      expect(opened instanceof LogFolder).toBe(isOver);
      if (opened instanceof LogFolder) opened.close();
      expect(await treeIn(copy, log, [65_534, 65_534])).toBe(65_534);
      expect(readdirSync(join(copy, "entries")).sort()).toEqual(["000000", "000000.range"]);
    }
  }
  expect([...names].sort()).toEqual(["rm", "truncate"]);
});

it("the entries are on the disk before the checkpoint is, and that is before the note stands in the database", async () => {
  const log = await GrowingLog.begin();
  const publisher = await log.publisher(temporaryFolder());
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
