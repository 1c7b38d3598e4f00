import { expect, it } from "vitest";
import { Board } from "../../src/board/board.ts";
import { startSweep } from "../../src/board/sweep.ts";
import { Database } from "../../src/store/database/database.ts";

it("a task of a sweep that fails is reported, and does not hold up the others", async () => {
  // The tasks of this test need no connection.
  const db = new Database({ address: { socketPath: "/nowhere", user: "stoa" }, connections: 4 });
  const failure = new Error("this task fails");
  const ran: string[] = [];
  const tasks = [
    async () => {
      throw failure;
    },
    async () => {
      ran.push("the next task");
    },
  ];
  const warned = Promise.withResolvers<object>();
  const sweep = startSweep(new Board(db, Date.now), tasks, { warn: warned.resolve });
  expect(await warned.promise).toEqual({ err: failure });
  await sweep.stop();
  await db.close();
  expect(ran).toEqual(["the next task"]);
});
