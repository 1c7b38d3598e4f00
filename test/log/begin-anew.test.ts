// stoa recover --log --begin-anew: a log ends whose key is lost, and another one begins, however often that is interrupted.
import { readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import { makeKey as makeAnyKey, writeKeyFile } from "../../src/log/key-file.ts";
import { DataFolderInUse } from "../../src/process/folder-lock.ts";
import { testOrigin } from "../support/log.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { command, endedLog, expectNewLog, makeKey, origin } from "./ended-log.ts";
import { interrupt } from "./steps.ts";
import { key } from "./support.ts";

// These two mostly wait, so they run concurrently.
it.concurrent("needs a new key, and a new name that is not too long for the first entry", async () => {
  const board = await endedLog();
  const refused = await board.operate(...command);
  expect([refused.status, refused.notes.join()]).toEqual([2, expect.stringMatching(/has no key: first run keygen/)]);
  const [path, name] = [join(board.dataDir, "log", "key"), "n".repeat(500)];
  await writeKeyFile(path, await makeAnyKey(name));
  const long = await board.operate("recover", "--log", "--begin-anew", name);
  expect([long.status, long.notes.join()]).toEqual([
    3,
    expect.stringMatching(/entry is malformed: it has more than 1024 bytes/),
  ]);
  const state = "SELECT restored, size = (SELECT COUNT(*) FROM log_entries) AS has FROM log_head";
  expect(await board.db.rows(state)).toEqual([{ restored: 0, has: 1 }]);
  rmSync(path);
  await makeKey(board);
  expect((await board.operate("recover", "--log", "--begin-anew", testOrigin)).status).toBe(2);
  const { status, out } = await board.operate(...command);
  expect([status, out[1]]).toEqual([
    0,
    expect.stringMatching(/^the log stoa\.test\/log2 has begun: stoa\.test\/log2\+/),
  ]);
  await expectNewLog(board);
});

it.concurrent("leaves a folder alone that a process uses", async () => {
  const path = scratchFolder();
  const folder = await LogFolder.open(path, key);
  const tried = [LogFolder.archive(path, "before"), LogFolder.discard(path)];
  for (const result of await Promise.allSettled(tried)) {
    expect(result).toMatchObject({ status: "rejected", reason: expect.any(DataFolderInUse) });
  }
  folder.close();
});

it("is done by the next run after it ended at any of its steps, and until then nothing is added to the log", async () => {
  const board = await endedLog();
  await makeKey(board);
  const names = new Set<string>();
  let outcome = await board.operate("recover", "--log");
  let hasLostEntries = false;
  for (let step = 1, isOver = false; !isOver; step++) {
    const end = await interrupt("killed", step, names);
    outcome = await board.operate(...command, "--json");
    isOver = end() < step;
    expect(outcome.status).toBe(isOver ? 0 : 3);
    const [state] = await board.db.rows<{ origin: string; restored: number }>(
      "SELECT origin, restored FROM log_identity, log_head",
    );
    expect(state?.origin).toBe(isOver ? origin : testOrigin);
    // The first transaction freezes the log.
    if (!isOver && names.has("runDdl")) expect(state?.restored).toBe(1);
    // What has been published can still be named.
    const files = readdirSync(join(board.dataDir, "log"), { recursive: true, encoding: "utf8" });
    expect(files.filter((path) => basename(path) === "checkpoint")).toHaveLength(1);
    if (isOver || !names.has("rename") || hasLostEntries) continue;
    hasLostEntries = true;
    // A log whose entries are gone does not go on by a plain recovery.
    for (const more of [[], ["--as-is"]]) {
      const { status, notes } = await board.operate("recover", "--log", ...more);
      expect([status, notes.join()]).toEqual([3, expect.stringMatching(/tile of the log is missing/)]);
    }
  }
  expect([...names].sort()).toEqual(["rename", "runDdl", "sync", "transaction", "truncate"]);
  const vkey = expect.stringMatching(/^stoa\.test\/log2\+/);
  const previous = { origin: testOrigin, size: Number(board.last.split("\n")[1]) };
  expect(JSON.parse(outcome.out.join())).toEqual({ ok: true, origin, vkey, previous });
  await expectNewLog(board);
});
