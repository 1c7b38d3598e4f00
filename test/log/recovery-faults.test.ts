import { join } from "node:path";
import { expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import type { SignedTree } from "../../src/log/folder/segments.ts";
import { recoverLog } from "../../src/log/recovery/recover-log.ts";
import { sourceOf } from "../../src/log/recovery/sources.ts";
import type { Database } from "../../src/store/database/database.ts";
import { expectToGoOn, publishedLog, restoreBackup } from "./recovery-support.ts";
import { key as logKey, never } from "./support.ts";

/** A database whose transaction number `failing` gets no answer, before or after it has committed. */
function failingAt(db: Database, failing: number, when: string): { db: Database; count: () => number } {
  let count = 0;
  const transaction: Database["transaction"] = async (signal, work, options) => {
    count += 1;
    const fails = count === failing;
    if (fails && when === "before") throw new Error("no answer");
    const result = await db.transaction(signal, work, options);
    if (fails) throw new Error("no answer");
    return result;
  };
  const get = (target: Database, name: string | symbol) => {
    if (name === "transaction") return transaction;
    const value = Reflect.get(target, name, target);
    return typeof value === "function" ? value.bind(target) : value;
  };
  return { db: new Proxy(db, { get }), count: () => count };
}

it("a recovery that fails at any of its transactions leaves the log frozen, and is done by the next one", async () => {
  const board = await publishedLog();
  const folder = await LogFolder.open(join(board.dataDir, "log"), logKey);
  const source = sourceOf(folder, folder.tree as SignedTree);
  const options = { now: () => 0, signal: never };
  for (let failing = 1, isOver = false; !isOver; failing++) {
    for (const when of ["before", "after"]) {
      await restoreBackup(board, 250);
      const { db, count } = failingAt(board.log.db, failing, when);
      const failure = await recoverLog(source, { ...options, db }).catch((error: Error) => error);
      isOver = count() < failing;
      expect(failure instanceof Error).toBe(!isOver);
      const { size, restored } = await board.log.head();
      // It is over for all at once.
      expect([250, 601]).toContain(size);
      expect(restored).toBe(size === 250 ? 1 : 0);
      await recoverLog(source, { ...options, db: board.log.db });
      const head = await board.log.head();
      expect([head.size, head.signed, head.restored]).toEqual([601, 600, 0]);
    }
  }
  folder.close();
  await expectToGoOn(board, 601);
});
