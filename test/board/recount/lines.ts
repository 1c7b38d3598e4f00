import { describeFinding, recountBoard } from "../../../src/board/recount/recount.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { TestDatabase } from "../../support/database.ts";

/** What a recount finds, a line for each. @param repair whether it makes the findings right */
export async function recountLines(db: Database, repair = false): Promise<string[]> {
  const { signal } = new AbortController();
  const found: string[] = [];
  const outcomes = recountBoard(db.longReader(signal), Date.now, signal, repair ? db : undefined);
  for await (const { finding, repaired } of outcomes) {
    found.push(`${describeFinding(finding)}${repaired ? "; repaired" : ""}`);
  }
  return found;
}

/** What a recount finds while these statements hold, which a rollback takes back. They may break foreign keys, as a restore can. */
export async function linesAfter({ pool }: TestDatabase, ...statements: string[]): Promise<string[]> {
  const connection = await pool.getConnection();
  const reader = {
    rows: async <Row>(sql: string, params?: unknown[]) => (await connection.execute(sql, params as never))[0] as Row[],
  };
  try {
    await connection.query("SET SESSION foreign_key_checks = 0");
    await connection.query("START TRANSACTION");
    for (const sql of statements) await connection.query(sql);
    const outcomes = recountBoard(reader as never, Date.now, new AbortController().signal);
    return (await Array.fromAsync(outcomes)).map(({ finding }) => describeFinding(finding));
  } finally {
    await connection.query("ROLLBACK");
    await connection.query("SET SESSION foreign_key_checks = 1");
    connection.release();
  }
}
