// stoa recover --log --begin-anew: a log ends whose key is lost, and another one begins, however often that is interrupted.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import { DataFolderInUse } from "../../src/process/folder-lock.ts";
import { testOrigin } from "../support/log.ts";
import { command, endedLog, expectNewLog, isOver, makeKey } from "./ended-log.ts";
import { watchSteps } from "./steps.ts";
import { key, temporaryFolder } from "./support.ts";

it("needs a new key and a new name", async () => {
  const board = await endedLog();
  const refused = await board.operate(...command);
  expect([refused.status, refused.notes.join()]).toEqual([2, expect.stringMatching(/has no key: first run keygen/)]);
  await makeKey(board);
  expect((await board.operate("recover", "--log", "--begin-anew", testOrigin)).status).toBe(2);
  const { status, out } = await board.operate(...command);
  expect([status, out[1]]).toEqual([
    0,
    expect.stringMatching(/^the log stoa\.test\/log2 has begun: stoa\.test\/log2\+/),
  ]);
  await expectNewLog(board);
});

it("tells programs which log has begun", async () => {
  const board = await endedLog();
  await makeKey(board);
  const { status, out } = await board.operate(...command, "--json");
  const vkey = expect.stringMatching(/^stoa\.test\/log2\+/);
  const previous = { origin: testOrigin, size: Number(board.last.split("\n")[1]) };
  expect([status, JSON.parse(out.join())]).toEqual([0, { ok: true, origin: "stoa.test/log2", vkey, previous }]);
});

it("leaves a folder alone that a process uses", async () => {
  const path = temporaryFolder();
  const folder = await LogFolder.open(path, key);
  await expect(LogFolder.archive(path, "before")).rejects.toThrow(DataFolderInUse);
  await expect(LogFolder.discard(path)).rejects.toThrow(DataFolderInUse);
  folder.close();
});

it("is done by the next run after any of its steps has failed, persisted or not", async () => {
  const board = await endedLog();
  await makeKey(board);
  const names = new Set<string>();
  for (let failing = 1; !(await isOver(board)); failing++) {
    for (const when of ["before", "after"]) {
      const fail = (): never => {
        throw Object.assign(new Error("input/output error"), { code: "EIO" });
      };
      const end = await watchSteps((name, number) => {
        if (number !== failing) return undefined;
        names.add(name);
        if (when === "before") fail();
        return { done: fail };
      });
      const { status } = await board.operate(...command);
      expect(end()).toBeGreaterThanOrEqual(failing);
      expect(status).toBe(3);
      // What has been published can still be named.
      const files = readdirSync(join(board.dataDir, "log"), { recursive: true, encoding: "utf8" });
      expect(files.filter((path) => basename(path) === "checkpoint")).toHaveLength(1);
    }
  }
  expect([...names].sort()).toEqual(["rename", "runDdl", "sync", "transaction", "truncate"]);
  await expectNewLog(board);
});

it("a log whose entries are gone does not go on by a plain recovery", async () => {
  const board = await endedLog();
  await makeKey(board);
  const end = await watchSteps((name) => {
    if (name === "rename") throw Object.assign(new Error("input/output error"), { code: "EIO" });
    return undefined;
  });
  expect((await board.operate(...command)).status).not.toBe(0);
  end();
  for (const more of [[], ["--as-is"]]) {
    const { status, notes } = await board.operate("recover", "--log", ...more);
    expect([status, notes.join()]).toEqual([3, expect.stringMatching(/tile of the log is missing/)]);
  }
  expect(await board.db.rows("SELECT restored FROM log_head")).toEqual([{ restored: 1 }]);
});
