// Boards that are all alike: while one has a wrong bit, another one is checked.
import { beforeAll } from "vitest";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { fsck, readColumns, startPopulated } from "./every-column.ts";

const boards: TestDatabase[] = [];
/** Those that no test uses. */
const idle: TestDatabase[] = [];
const waiting: ((board: TestDatabase) => void)[] = [];

/** They refuse to have rows changed. */
const triggers = [
  "receipts_are_not_updated",
  "receipts_are_not_deleted",
  "posts_take_no_comments_when_locked",
  "moderations_are_not_updated",
  "moderations_are_not_deleted",
  "log_entries_are_not_updated",
  "log_entries_are_not_deleted",
];

/** fsck reads row by row: the database server works on one board while this process works on the other. */
const boardCount = 3;

/** To be called before the tests of a file. */
export function useEveryColumn(): void {
  beforeAll(async () => {
    const [{ db }, ...copies] = await Promise.all([
      startPopulated(),
      ...Array.from({ length: boardCount - 1 }, createDatabaseWithSchema),
    ]);
    await dropTriggers(db);
    // It leaves the row of last_fsck.
    await fsck(db);
    for (const copy of copies) await copyRows(db, copy);
    boards.splice(0, boards.length, db, ...copies);
    idle.splice(0, idle.length, ...boards);
    waiting.length = 0;
  });
}

/** Runs `work` on a board that nobody else uses meanwhile. */
export async function withBoard(work: (board: TestDatabase) => Promise<void>): Promise<void> {
  const board = idle.pop() ?? (await new Promise<TestDatabase>((resolve) => waiting.push(resolve)));
  try {
    await work(board);
  } finally {
    const next = waiting.shift();
    if (next === undefined) idle.push(board);
    else next(board);
  }
}

/** What fsck says of each board: nothing, once all wrong bits are right again. */
export const findingsOfBoards = () => Promise.all(boards.map(async (board) => (await fsck(board)).out));

async function dropTriggers(db: TestDatabase): Promise<void> {
  for (const name of triggers) await db.rows(`DROP TRIGGER IF EXISTS ${name}`);
}

/** Gives a board that is new the rows of another one. */
async function copyRows(board: TestDatabase, copy: TestDatabase): Promise<void> {
  await dropTriggers(copy);
  const columns = (await readColumns(board)).filter(({ isGenerated }) => !isGenerated);
  const connection = await copy.pool.getConnection();
  await connection.query("SET SESSION foreign_key_checks = 0, sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')");
  for (const [table, own] of Map.groupBy(columns, ({ table }) => table)) {
    const names = own.map(({ name }) => name).join(", ");
    await connection.query(`DELETE FROM ${table}`);
    await connection.query(`INSERT INTO ${table} (${names}) SELECT ${names} FROM ${board.config.database}.${table}`);
  }
  connection.destroy();
}
