// Keys of more than 53 bits: two of them may be one Number.
import { expect, it } from "vitest";
import { randomNumbers } from "../support/posts.ts";
import { type Column, fsck, readColumns, seed, useEveryColumn, withWrongBit } from "./every-column.ts";

useEveryColumn();

it.each([53, 62, 63])("keys that a Number cannot tell apart are found, and end the run: bit %i", async (bit) => {
  const columns = await readColumns();
  const random = randomNumbers(seed);
  for (const name of ["receipts.seq", "ledger_clock_words.seq", "inboxes.agent_id"]) {
    const column = columns.find((each) => `${each.table}.${each.name}` === name) as Column;
    // Whether the next number rounds up or down depends on the row.
    for (let round = 0; round < 6; round++) {
      const work = async () => expect((await fsck()).out, name).not.toEqual([]);
      expect(await withWrongBit(column, columns, random, work, bit)).toBe(true);
    }
  }
});
