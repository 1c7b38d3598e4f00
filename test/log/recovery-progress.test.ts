// stoa recover --log, when it takes long, and when it is interrupted.
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectToGoOn, publishedLog, restoreBackup } from "./recovery-support.ts";
import { interrupt } from "./steps.ts";
import { never } from "./support.ts";

it("people see the progress of a long recovery, and programs get what it has put back", async () => {
  const board = await publishedLog();
  const source = join(board.dataDir, "log");
  const publisher = await board.log.publisher(source);
  await publisher.publish(never, await board.log.grow(10_000));
  await publisher.stop();
  await restoreBackup(board, 250);
  const { out, notes } = await board.recover("--json");
  expect(out.map((line) => JSON.parse(line))).toEqual([{ ok: true, size: 10_601, source, from: 250, to: 10_600 }]);
  expect(notes.join()).toMatch(/put back 10\d\d\d of 10350 entries/);
});

it("a recovery that ends at any of its steps leaves the log frozen, and is done by the next one", async () => {
  const board = await publishedLog();
  const names = new Set<string>();
  for (let step = 1, isOver = false; !isOver; step++) {
    await restoreBackup(board, 250);
    const end = await interrupt("killed", step, names);
    const { status } = await board.recover();
    isOver = end() < step;
    expect(status).toBe(isOver ? 0 : 3);
    const { size, restored } = await board.log.head();
    // It is over for all at once.
    expect([250, 601]).toContain(size);
    expect(restored).toBe(size === 250 ? 1 : 0);
    expect((await board.recover()).status).toBe(0);
    expect(await board.log.head()).toMatchObject({ size: 601, restored: 0 });
  }
  expect(names).toContain("transaction");
  await expectToGoOn(board, 601);
});
