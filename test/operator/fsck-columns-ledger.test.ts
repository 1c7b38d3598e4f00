// As fsck-columns.test.ts, for the tables of the ledger, the log, the search and replies.
import { it } from "vitest";
import { useEveryColumn } from "./boards.ts";
import { expectNothingLeft, expectWrongBitsFound, otherTables } from "./listed-columns.ts";

useEveryColumn();

it.concurrent.each(otherTables)("a wrong bit in a column of %s that is checked is found", expectWrongBitsFound);

it("nothing is wrong after that", expectNothingLeft);
