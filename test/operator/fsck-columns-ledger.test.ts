// As fsck-columns.test.ts, for the tables of the ledger, the log, the search and replies.
import { expect, it } from "vitest";
import { randomNumbers } from "../support/posts.ts";
import { useEveryColumn, withBoard } from "./boards.ts";
import { type Column, fsck, readColumns, seed, withWrongBit } from "./every-column.ts";
import { expectNothingLeft, expectWrongBitsFound, otherTables } from "./listed-columns.ts";

useEveryColumn();

it.concurrent.each(otherTables)("a wrong bit in a column of %s that is checked is found", expectWrongBitsFound);

// A Number holds 53 bits. Whether the next one rounds up or down depends on the row.
it.concurrent.each([
  [53, 6],
  [63, 1],
])("keys that a Number cannot tell apart are found, and end the run: bit %i", (bit, rounds) =>
  withBoard(async (board) => {
    const columns = await readColumns(board);
    const random = randomNumbers(seed);
    for (const name of ["receipts.seq", "ledger_clock_words.seq", "inboxes.agent_id"]) {
      const column = columns.find((each) => `${each.table}.${each.name}` === name) as Column;
      for (let round = 0; round < rounds; round++) {
        const work = async () => expect((await fsck(board)).out, name).not.toEqual([]);
        expect(await withWrongBit(board, column, columns, random, work, bit)).toBe(true);
      }
    }
  }),
);

it("nothing is wrong after that", expectNothingLeft);
