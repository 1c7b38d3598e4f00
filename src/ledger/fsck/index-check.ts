// Checks the index tables of the ledger. Their rows, called notes, follow from the receipts.
import type { ReceiptDocument } from "../../receipt/document.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { compare, type Finding } from "../../store/recount/finding.ts";
import { deleteNote, findNote, listNotes, type Note, type NoteTable, putNote } from "../../store/recount/notes.ts";
import { findReceipt } from "../../store/tables/receipts.ts";

/** An index table, and the receipts that have a row in it. */
export interface NoteCheck extends NoteTable {
  /** The key of the row that a receipt must have; undefined if it must have none. */
  keyOf(document: ReceiptDocument): Note["key"] | undefined;
  /** What is wrong with a receipt that has a row and must have none. */
  denial: string;
}

/** All index tables. */
export const noteChecks: readonly NoteCheck[] = [
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

/** A finding about a note, and its repair. The head must be locked for the repair. */
export interface WrongNote {
  finding: Finding;
  repair?: (tx: Tx) => Promise<void>;
}

/** Finds receipts that lack a note in a table, or whose note names another receipt. */
export async function findUnnoted(
  db: Queryable,
  check: NoteCheck,
  documents: readonly ReceiptDocument[],
): Promise<WrongNote[]> {
  const notes = documents.flatMap((document) => {
    const key = check.keyOf(document);
    return key === undefined ? [] : [{ key, seq: document.seq }];
  });
  return (await Promise.all(notes.map((right) => compareNote(db, check, right)))).flat();
}

/** Finds the notes in a table that name the wrong receipt. */
export async function* findUnfounded(db: Queryable, check: NoteCheck): AsyncGenerator<WrongNote, void> {
  let after: Note | undefined;
  for (;;) {
    const notes = await listNotes(db, check, after);
    if (notes.length === 0) return;
    const right = await Promise.all(notes.map((note) => isFounded(db, check, note)));
    for (const note of notes.filter((_, index) => !right[index])) {
      const problem = `receipt ${note.seq} ${check.denial}`;
      yield { finding: { ...nameOf(check, note), problem }, repair: (tx) => deleteNote(tx, check, note) };
    }
    after = notes.at(-1);
  }
}

async function compareNote(db: Queryable, check: NoteCheck, right: Note): Promise<WrongNote[]> {
  const seq = await findNote(db, check, right.key);
  if (seq === right.seq) return [];
  const { subject, key } = nameOf(check, right);
  const repair = (tx: Tx) => putNote(tx, check, right);
  if (seq === undefined) return [{ finding: { subject, key, problem: `receipt ${right.seq} is not noted` }, repair }];
  if (await isFounded(db, check, { key: right.key, seq })) {
    return [{ finding: { subject, key, problem: `receipts ${seq} and ${right.seq} both seal it` } }];
  }
  return compare(`${subject}.seq`, key, seq, right.seq).map((finding) => ({ finding, repair }));
}

/** Whether the receipt that a note names must have this note. A receipt that cannot be read is a separate finding. */
async function isFounded(db: Queryable, check: NoteCheck, { key, seq }: Note): Promise<boolean> {
  const receipt = await findReceipt(db, seq);
  if (receipt === undefined) return false;
  try {
    const right = check.keyOf(JSON.parse(receipt.canonical.toString("utf8")));
    return right?.every((value, index) => isSame(value, key[index])) ?? false;
  } catch {
    return true;
  }
}

function isSame(one: Note["key"][number], other: Note["key"][number] | undefined): boolean {
  return Buffer.isBuffer(one) ? Buffer.isBuffer(other) && one.equals(other) : one === other;
}

function nameOf({ name, key: columns }: NoteTable, { key }: Note): Pick<Finding, "subject" | "key"> {
  const values = columns.map((column, index) => {
    const value = key[index] ?? null;
    return [column, Buffer.isBuffer(value) ? value.toString("utf8") : value] as const;
  });
  return { subject: name, key: Object.fromEntries(values) };
}
