import { isDuplicate } from "../database/database-errors.ts";
import type { Param, Tx } from "../database/queryable.ts";

/** Inserts a row. @returns its id; undefined, and nothing is inserted, if the unique index `index` has its value already */
export async function insertOnce(tx: Tx, index: string, sql: string, params: Param[]): Promise<number | undefined> {
  try {
    return (await tx.run(sql, params)).insertId;
  } catch (error) {
    if (isDuplicate(error, index)) return undefined;
    throw error;
  }
}
