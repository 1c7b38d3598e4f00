import { describeFinding, recountBoard } from "../../../src/board/recount/recount.ts";
import type { Database } from "../../../src/store/database/database.ts";

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
