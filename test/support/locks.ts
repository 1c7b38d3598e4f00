import type { TestDatabase } from "./database.ts";
import { waitUntil } from "./wait.ts";

/** Locks the row of a post. */
export function lockPost(db: TestDatabase, id: number): Promise<{ release(): Promise<void> }> {
  return lockRow(db, "posts", id);
}

/** Locks a row on another connection, so that calls that need the row wait until `release`. */
export async function lockRow(db: TestDatabase, table: string, id: number): Promise<{ release(): Promise<void> }> {
  const connection = await db.pool.getConnection();
  await connection.beginTransaction();
  await connection.query(`SELECT id FROM ${table} WHERE id = ? FOR UPDATE`, [id]);
  return {
    async release() {
      await connection.rollback();
      connection.release();
    },
  };
}

/** Resolves once so many statements that lock a row of `table` wait in this database. */
export async function someoneWaits(db: TestDatabase, table = "posts", count = 1): Promise<void> {
  const statement = new RegExp(`FROM ${table}.*FOR UPDATE$`, "s");
  await waitUntil(`${count} that wait for the lock`, async () => {
    // SHOW is used because MySQL's table of processes fails for statements with binary values.
    const running = await db.rows<{ db: string | null; Info: string | null }>("SHOW FULL PROCESSLIST");
    const waiting = running.filter((each) => each.db === db.config.database && statement.test(each.Info ?? ""));
    return waiting.length >= count;
  });
}
