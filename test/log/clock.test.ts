// A clock that was ahead when the log began keeps nothing out of the log once it is right.
import { expect, it } from "vitest";
import { createDatabaseWithSchema } from "../support/database.ts";
import { entriesOf } from "../support/log.ts";
import { startLogService } from "./support.ts";

it("what is said is in the log although that began ten years later", async () => {
  let now = Date.UTC(2036, 0, 31);
  const db = await createDatabaseWithSchema();
  const start = () => startLogService({ db, overrides: { now: () => now, sealsDays: false } });
  const agents = async () => (await entriesOf(db)).filter(({ type }) => type === "agent").map(({ id }) => id);
  await (await start()).app.close();
  now = Date.UTC(2026, 0, 31);
  const early = await start();
  await early.register("Zeno");
  expect(await agents()).toEqual([]);
  now += 60_000;
  await early.register("Achilles");
  expect(await agents()).toEqual([2]);
  await early.app.close();
  // Once the import has begun, the log has.
  await db.rows("UPDATE log_identity SET imported = ''");
  await (await start()).register("Tortoise");
  expect(await agents()).toEqual([2, 3]);
});
