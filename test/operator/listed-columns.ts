import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { randomNumbers } from "../support/posts.ts";
import { findingsOfBoards, withBoard } from "./boards.ts";
import { findsSomething, readColumns, seed, withWrongBit } from "./every-column.ts";

const page = readFileSync(new URL("../../docs/fsck-columns.md", import.meta.url), "utf8");
/** What the page says of each column. */
export const listed = new Map(
  [...page.matchAll(/^\| `(\w+\.\w+)` \| (.+) \|$/gm)].map(([, column, how]) => [column as string, how as string]),
);
const isChecked = (how: string) => !/^(?:not checked|in part|computed):/.test(how);
const tables = [...new Set([...listed.keys()].map((column) => column.slice(0, column.indexOf("."))))];
const isOfBoard = (table: string) => !/^(?:ledger|log|receipts|search|idempotency)/.test(table);

/** A file of tests has the tables of the board, and another one all others: fsck runs for each column. */
export const tablesOfBoard = tables.filter(isOfBoard);
export const otherTables = tables.filter((table) => !isOfBoard(table));

/** Changes a bit in each column of a table that is checked. Expects that fsck finds each. */
export const expectWrongBitsFound = (table: string): Promise<void> =>
  withBoard(async (board) => {
    const columns = await readColumns(board);
    const random = randomNumbers(seed);
    const missed: string[] = [];
    for (const column of columns.filter((each) => each.table === table)) {
      const name = `${column.table}.${column.name}`;
      if (!isChecked(listed.get(name) as string)) continue;
      const isChanged = await withWrongBit(board, column, columns, random, async () => {
        if (!(await findsSomething(board))) missed.push(name);
      });
      if (!isChanged) missed.push(`${name} has no value`);
    }
    expect({ seed, missed }).toEqual({ seed, missed: [] });
  });

/** After all tables: no finding of one was a wrong bit that an earlier one had left, as fsck repairs nothing. */
export async function expectNothingLeft(): Promise<void> {
  const findings = await findingsOfBoards();
  expect(findings).toEqual(findings.map(() => []));
}
