// interrupted.test.ts has all other interruptions. Here the operating system ends the process.
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { nodeEnvironment } from "../support/node-environment.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { GrowingLog, never } from "./support.ts";

const program = fileURLToPath(new URL("./publish-and-die.ts", import.meta.url));

it("after kill -9 before any step, the folder has the tree before or the one after, and the next start goes on", async () => {
  const log = await GrowingLog.begin();
  const path = scratchFolder();
  const before = await log.publisher(path);
  await log.grow(8);
  await before.publish(never);
  await before.stop();
  const { signed, note } = await log.head();
  await log.grow(4);
  const found = new Set<string>();
  for (let step = 1, isOver = false; !isOver; step++) {
    const copy = scratchFolder();
    cpSync(path, copy, { recursive: true });
    await log.test.rows("UPDATE log_head SET signed = ?, note = ?", [signed, note]);
    const input = JSON.stringify({ database: log.test.config, path: copy, step });
    const how = { encoding: "utf8", env: nodeEnvironment } as const;
    const { signal, status, stderr } = spawnSync(process.execPath, [program, input], how);
    isOver = signal === null;
    if (isOver) expect([status, stderr]).toEqual([0, ""]);
    const inDatabase = (await log.head()).signed;
    const next = await log.publisher(copy);
    found.add(`${next.tree?.size} ${inDatabase}`);
    await next.publish(never);
    expect([next.obstacle, next.tree?.size, (await log.head()).signed]).toEqual([undefined, 13, 13]);
    await next.stop();
  }
  // The database never has a note that the folder of its signer lacks.
  expect([...found]).toEqual(["9 9", "13 9", "13 13"]);
});
