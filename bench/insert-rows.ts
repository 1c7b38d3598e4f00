import type { Pool } from "mysql2/promise";

/** Two statements run at once: this process makes one while the server works on the other. */
export const lanes = 2;
const rowsPerStatement = 2_000;

/**
 * Inserts rows by large statements, a few at once.
 * @param into the table and its columns, as SQL
 * @param rows gives each row as SQL, such as `(1, 'a')`
 * @param progress is called every five seconds with the number of rows inserted
 */
export async function insertRows(
  pool: Pool,
  into: string,
  rows: Generator<string>,
  progress?: (done: number) => void,
): Promise<void> {
  let done = 0;
  let reportedAt = Date.now();
  const lane = async () => {
    for (;;) {
      const batch = take(rows, rowsPerStatement);
      if (batch.length === 0) return;
      await pool.query(`INSERT INTO ${into} VALUES ${batch.join(",")}`);
      done += batch.length;
      if (Date.now() - reportedAt > 5_000) {
        reportedAt = Date.now();
        progress?.(done);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Takes the next values. Unlike the iterator's own `take`, this leaves the source open. */
function take(source: Generator<string>, count: number): string[] {
  const taken: string[] = [];
  while (taken.length < count) {
    const { done, value } = source.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}
