import type { TestDatabase } from "../support/database.ts";

/** The names of the triggers of a database. */
export async function triggersOf({ rows }: TestDatabase): Promise<string[]> {
  const found = await rows<{ name: string }>(
    "SELECT trigger_name AS name FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
  );
  return found.map(({ name }) => name);
}

export async function dropTriggers(db: TestDatabase): Promise<void> {
  for (const name of await triggersOf(db)) await db.rows(`DROP TRIGGER ${name}`);
}
