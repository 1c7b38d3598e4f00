// docs/fsck-columns.md says what fsck compares each column with. A wrong bit in a column that is checked is a finding.
import { expect, it } from "vitest";
import { InboxItemTypeSchema, SubscriptionKindSchema } from "../../gen/stoa/v1/inbox_service_pb.js";
import { ModerationActSchema, ModerationItemSchema, ModerationReasonSchema } from "../../gen/stoa/v1/moderation_pb.js";
import { storedWords } from "../../src/store/recount/rules.ts";
import { randomNumbers } from "../support/posts.ts";
import { useEveryColumn, withBoard } from "./boards.ts";
import { type Column, fsck, readColumns, seed, withWrongBit } from "./every-column.ts";
import { expectNothingLeft, expectWrongBitsFound, listed, tablesOfBoard } from "./listed-columns.ts";

useEveryColumn();

it("lists every column", () =>
  withBoard(async (board) => {
    const columns = await readColumns(board);
    expect([...listed.keys()].sort()).toEqual(columns.map(({ table, name }) => `${table}.${name}`).sort());
    const computed = columns.filter(({ isGenerated }) => isGenerated).map(({ table, name }) => `${table}.${name}`);
    expect([...listed].filter(([, how]) => how.startsWith("computed: ")).map(([column]) => column)).toEqual(computed);
  }));

it.each([
  [ModerationReasonSchema, storedWords.reasons],
  [ModerationActSchema, storedWords.acts],
  [ModerationItemSchema, storedWords.items],
  [InboxItemTypeSchema, storedWords.types],
  [SubscriptionKindSchema, storedWords.kinds],
])("knows every word of %s", ({ values }, words) => {
  const [, ...named] = values.map(({ localName }) => localName.toLowerCase());
  expect(words.split(" ").sort()).toEqual(named.sort());
});

it.concurrent.each(tablesOfBoard)("a wrong bit in a column of %s that is checked is found", expectWrongBitsFound);

// A Number holds 53 bits. Whether the next one rounds up or down depends on the row.
it.concurrent.each([
  [53, 4],
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
