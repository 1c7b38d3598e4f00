import type { TestDatabase } from "../../support/open-database.ts";
import { waitUntil } from "../../support/wait.ts";
import { type Fault, fine } from "../fault.ts";

export const triggersDropped: Fault = {
  name: "Dropped triggers",
  done: "The triggers that protect receipts from changes are dropped. A restore without triggers has the same effect.",
  seen: "Nothing. Within a minute /readyz has a warning that names the triggers. The next start creates them again.",
  during: fine,
  async harm(stage) {
    await stage.withDatabase(async (db) => {
      for (const name of await triggersOf(db)) await db.rows(`DROP TRIGGER ${name}`);
    });
    const isTold = async () => /triggers/.test((await stage.ready()).body.warning);
    await waitUntil("a warning", isTold, 60_000);
    return [];
  },
  async mend(stage) {
    await stage.restart();
    const found = await stage.withDatabase(triggersOf);
    if (found.length === 0) throw new Error("the triggers are not there again");
  },
};

/** The names of the triggers of a database. */
async function triggersOf({ rows }: TestDatabase): Promise<string[]> {
  const found = await rows<{ name: string }>(
    "SELECT trigger_name AS name FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
  );
  return found.map(({ name }) => name);
}
