// Checks the index tables of the ledger. Their rows follow from the receipts.
import type { ReceiptDocument } from "../../receipt/document.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { compare, type Finding } from "../../store/recount/finding.ts";
import {
  deleteIndexRow,
  findIndexRow,
  type IndexRow,
  type IndexTable,
  listIndexRows,
  putIndexRow,
} from "../../store/recount/index-rows.ts";
import { findReceipt } from "../../store/tables/receipts.ts";
import type { Repairable } from "./repairable.ts";

/** An index table, and the receipts that have a row in it. */
interface IndexCheck extends IndexTable {
  /** The key of the row that a receipt must have; undefined if it must have none. */
  keyOf(document: ReceiptDocument): IndexRow["key"] | undefined;
  /** What the finding says of a receipt that has a row and must have none. */
  denial: string;
}

/** All index tables. */
export const indexChecks: readonly IndexCheck[] = [
  {
    name: "ledger_days",
    key: ["date"],
    keyOf: ({ body }) => (body.type === "daily" ? [body.date] : undefined),
    denial: "does not seal it",
  },
  {
    name: "ledger_sessions",
    key: ["book", "session"],
    keyOf: ({ book, body }) => (body.type === "session" ? [Buffer.from(book ?? ""), body.session] : undefined),
    denial: "does not seal it",
  },
  {
    name: "ledger_recoveries",
    key: ["seq"],
    keyOf: ({ seq, body }) => (body.type === "recovery" ? [seq] : undefined),
    denial: "is no recovery",
  },
];

/** Finds receipts without a row in a table, or whose row names another receipt. */
export async function findMissingRows(
  db: Queryable,
  check: IndexCheck,
  documents: readonly ReceiptDocument[],
): Promise<Repairable[]> {
  const rows = documents.flatMap((document) => {
    const key = check.keyOf(document);
    return key === undefined ? [] : [{ key, seq: document.seq }];
  });
  return (await Promise.all(rows.map((right) => compareRow(db, check, right)))).flat();
}

/** Finds the rows in a table that name the wrong receipt. */
export async function* findWrongRows(db: Queryable, check: IndexCheck): AsyncGenerator<Repairable, void> {
  let after: IndexRow | undefined;
  for (;;) {
    const rows = await listIndexRows(db, check, after);
    const last = rows.at(-1);
    // A damaged key that is not ASCII is decoded as another key, after which the query would find the same row for ever.
    if (last === undefined || after?.key.every((value, index) => isSame(value, last.key[index]))) return;
    const right = await Promise.all(rows.map((row) => isRight(db, check, row)));
    for (const row of rows.filter((_, index) => !right[index])) {
      const problem = `receipt ${row.seq} ${check.denial}`;
      yield { finding: { ...nameOf(check, row), problem }, repair: (tx) => deleteIndexRow(tx, check, row) };
    }
    after = last;
  }
}

async function compareRow(db: Queryable, check: IndexCheck, right: IndexRow): Promise<Repairable[]> {
  const seq = await findIndexRow(db, check, right.key);
  if (seq === right.seq) return [];
  const { subject, key } = nameOf(check, right);
  const repair = (tx: Tx) => putIndexRow(tx, check, right);
  if (seq === undefined) return [{ finding: { subject, key, problem: `receipt ${right.seq} is not noted` }, repair }];
  if (await isRight(db, check, { key: right.key, seq })) {
    return [{ finding: { subject, key, problem: `receipts ${seq} and ${right.seq} both seal it` } }];
  }
  return compare(`${subject}.seq`, key, seq, right.seq).map((finding) => ({ finding, repair }));
}

/** Whether the receipt that a row names must have this row. A receipt that cannot be read is a separate finding. */
async function isRight(db: Queryable, check: IndexCheck, { key, seq }: IndexRow): Promise<boolean> {
  const receipt = await findReceipt(db, seq);
  if (receipt === undefined) return false;
  try {
    const right = check.keyOf(JSON.parse(receipt.canonical.toString("utf8")));
    return right?.every((value, index) => isSame(value, key[index])) ?? false;
  } catch {
    return true;
  }
}

function isSame(one: IndexRow["key"][number], other: IndexRow["key"][number] | undefined): boolean {
  return Buffer.isBuffer(one) ? Buffer.isBuffer(other) && one.equals(other) : one === other;
}

function nameOf({ name, key: columns }: IndexTable, { key }: IndexRow): Pick<Finding, "subject" | "key"> {
  const values = columns.map((column, index) => {
    const value = key[index] ?? null;
    return [column, Buffer.isBuffer(value) ? value.toString("utf8") : value] as const;
  });
  return { subject: name, key: Object.fromEntries(values) };
}
