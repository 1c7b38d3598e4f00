// Every step of publishing is interrupted. The folder then has a whole tree, and the next call or start goes on from it.
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { nodeEnvironment } from "../support/node-environment.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { GrownLog } from "./grown-log.ts";
import { watchSteps } from "./steps.ts";
import { GrowingLog, never } from "./support.ts";

const grown = await GrownLog.of(9);

it("an interrupted step is done again by the next call, in the same process and after a start", async () => {
  const start = async (path: string) => {
    cpSync(grown.path, path, { recursive: true });
    await grown.note();
    return grown.log.publisher(path);
  };
  const names = await grown.interruptEach(start, [9, 13], 0);
  expect(names).toEqual(["appendFile", "rename", "sync", "transaction", "truncate", "write"]);
});

it("after kill -9 before any step, the folder has the tree before or the one after, and the next start goes on", async () => {
  const program = fileURLToPath(new URL("./publish-and-die.ts", import.meta.url));
  const how = { encoding: "utf8", env: nodeEnvironment } as const;
  const found = new Set<string>();
  for (let step = 1, isOver = false; !isOver; step++) {
    const path = grown.copy();
    await grown.note();
    const input = JSON.stringify({ database: grown.log.test.config, path, step });
    const { signal, status, stderr } = spawnSync(process.execPath, [program, input], how);
    isOver = signal === null;
    if (isOver) expect([status, stderr]).toEqual([0, ""]);
    const { signed } = await grown.log.head();
    found.add(`${await grown.goOn(path)} ${signed}`);
  }
  // The database never has a note that the folder of its signer lacks.
  expect([...found]).toEqual(["9 9", "13 9", "13 13"]);
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
