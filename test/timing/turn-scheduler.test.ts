import { expect, it } from "vitest";
import { TurnScheduler } from "../../src/timing/turn-scheduler.ts";

it("parties take turns, however much work of one waits", async () => {
  const scheduler = new TurnScheduler(1);
  await scheduler.turn();
  const order: string[] = [];
  await Promise.all([..."aaaab"].map((party) => scheduler.turn(party).then(() => order.push(party))));
  expect(order.join("")).toBe("abaaa");
});
