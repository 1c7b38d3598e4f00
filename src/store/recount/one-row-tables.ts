import type { Queryable } from "../database/queryable.ts";
import { oneRowTables } from "../tables/one-row.ts";
import { leftOut, type Outcome } from "./finding.ts";

/**
 * Finds rows with another id than 1 in the tables that have one row, up to 10 in each. A missing row is not reported here.
 */
export async function* checkOneRowTables(db: Queryable): AsyncGenerator<Outcome, void> {
  for (const table of oneRowTables) {
    try {
      for (const { id } of await db.rows<{ id: number }>(
        `SELECT id FROM ${table} WHERE id <> 1 ORDER BY id LIMIT 10`,
      )) {
        yield { finding: { subject: `${table}.id`, key: { id }, problem: "the id is not 1" }, repaired: false };
      }
    } catch (error) {
      // `checkSchema` reports a missing table. Other errors are thrown on.
      leftOut(table, error);
    }
  }
}
