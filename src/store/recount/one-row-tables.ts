import type { Queryable } from "../database/queryable.ts";
import { oneRowTables } from "../tables/one-row.ts";
import { leftOut, type Outcome } from "./finding.ts";

/**
 * Finds rows besides the one with the id 1, up to 10 in each table that has one row. If that row itself is missing, the check
 * of its values reports that.
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
      // A missing table is a finding of the check of the schema.
      leftOut(table, error);
    }
  }
}
