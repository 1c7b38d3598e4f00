import { vi } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import type { Param } from "../../../src/store/database/queryable.ts";

/** What the services in this process have read from the ledger since the start of the test file. */
export interface QueryCount {
  /** The rows of receipts in pages, which streams and verifications read. */
  receipts: number;
  /** How often the head was read. */
  heads: number;
}

/** Counts what is read through any Database of this process, and changes nothing. */
export function countQueries(): QueryCount {
  const count: QueryCount = { receipts: 0, heads: 0 };
  for (const name of ["reader", "longReader"] as const) {
    const original = Database.prototype[name];
    vi.spyOn(Database.prototype, name).mockImplementation(function (this: Database, signal: AbortSignal) {
      const reader = original.call(this, signal);
      return {
        ...reader,
        rows: async <Row>(sql: string, params?: readonly Param[]) => {
          const rows = await reader.rows<Row>(sql, params);
          if (sql.includes("FROM receipts WHERE seq >=")) count.receipts += rows.length;
          if (sql.includes("FROM ledger_head")) count.heads += 1;
          return rows;
        },
      };
    });
  }
  return count;
}

/** Resolves with a value when it has not changed for `ms`. */
export async function settled(read: () => number, ms: number): Promise<number> {
  let value = read();
  for (let since = performance.now(); performance.now() - since < ms; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (read() === value) continue;
    value = read();
    since = performance.now();
  }
  return value;
}
