// Every step of publishing fails, and what failed was persisted or was not. killed.test.ts kills at every step.
import { cpSync } from "node:fs";
import { expect, it } from "vitest";
import { asBefore, grownLog, treeIn } from "./interruption.ts";
import { watchSteps } from "./steps.ts";
import { GrowingLog, never, temporaryFolder } from "./support.ts";

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
