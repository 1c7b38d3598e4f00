import type { TestDatabase } from "./database.ts";
import { waitUntil } from "./wait.ts";

/** Locks a post's row from outside, so that calls that need it wait; `release` lets them go on. */
export async function lockPost(db: TestDatabase, id: number): Promise<{ release(): Promise<void> }> {
  const connection = await db.pool.getConnection();
  await connection.beginTransaction();
  await connection.query("SELECT id FROM posts WHERE id = ? FOR UPDATE", [id]);
  return {
    async release() {
      await connection.rollback();
      connection.release();
    },
  };
}

/** Resolves once a statement of the service waits for a lock in this database. */
export async function someoneWaits(db: TestDatabase): Promise<void> {
  await waitUntil("a statement that waits for the lock", async () => {
    const waiting = await db.rows(
      `SELECT 1 FROM information_schema.processlist
       WHERE db = ? AND command IN ('Query', 'Execute') AND info LIKE '%FROM posts%FOR UPDATE%' AND info NOT LIKE '%processlist%'`,
      [db.config.database],
    );
    return waiting.length > 0;
  });
}
