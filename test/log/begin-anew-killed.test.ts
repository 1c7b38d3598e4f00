// stoa recover --log --begin-anew, killed at each of its steps.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { command, endedLog, expectNewLog, isOver, makeKey } from "./ended-log.ts";
import type { At } from "./steps.ts";

const program = fileURLToPath(new URL("./operate-and-die.ts", import.meta.url));

it("is done by the next run after a kill, and until then nothing is added to the log", async () => {
  const board = await endedLog();
  await makeKey(board);
  // The log is frozen, salts are forgotten in six tables, three tables become empty, entries and checkpoint are moved.
  const kills: At[] = [["transaction", 1], ["transaction", 2], ["transaction", 7], ["runDdl", 1], ["runDdl", 2], ["runDdl", 3], ["rename", 1], ["rename", 2], ["transaction", 8]]; // biome-ignore format: one list
  for (const at of kills) {
    const input = JSON.stringify({ settings: board.settings, command, at });
    const { signal, stderr } = spawnSync(process.execPath, [program, input], { encoding: "utf8" });
    expect([at, signal, stderr]).toEqual([at, "SIGKILL", ""]);
    expect(await isOver(board)).toBe(false);
    const [head] = await board.db.rows<{ restored: number }>("SELECT restored FROM log_head");
    expect([at, head?.restored]).toEqual([at, String(at) === "transaction,1" ? 0 : 1]);
  }
  expect((await board.operate(...command)).status).toBe(0);
  await expectNewLog(board);
});
