import type { Queryable } from "../../src/store/database/queryable.ts";

/** The work of the engine for a query: the rows that it read, by an index or a scan, and the rows that it sorted. */
interface Cost {
  reads: number;
  sorted: number;
}

/** Runs `query` and returns its cost. `reader` must belong to a Database with one connection. */
export async function measure<Result>(
  reader: Queryable,
  query: () => Promise<Result>,
): Promise<Cost & { result: Result }> {
  await query(); // Once for the statement to be prepared, which opens tables.
  const idle = difference(await counters(reader), await counters(reader));
  const before = await counters(reader);
  const result = await query();
  const { reads, sorted } = difference(before, await counters(reader));
  return { reads: reads - idle.reads, sorted: sorted - idle.sorted, result };
}

async function counters(reader: Queryable): Promise<Cost> {
  const rows = await reader.rows<{ Variable_name: string; Value: string }>(
    "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler\\_read%' OR Variable_name = 'Sort_rows'",
  );
  const cost = { reads: 0, sorted: 0 };
  for (const { Variable_name: name, Value: value } of rows) {
    cost[name.toLowerCase() === "sort_rows" ? "sorted" : "reads"] += Number(value);
  }
  return cost;
}

function difference(before: Cost, after: Cost): Cost {
  return { reads: after.reads - before.reads, sorted: after.sorted - before.sorted };
}
