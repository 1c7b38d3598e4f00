// Each daily and each session receipt has a row that notes what it sealed; these rows follow from the receipts.
import type { ReceiptDocument } from "../receipt/document.ts";
import type { Queryable, Tx } from "../store/database.ts";
import { findReceipt } from "../store/receipts.ts";
import { compare, type Finding } from "../store/recount/finding.ts";
import { deleteSealed, findSealed, listSealed, putSealed, type SealedRow } from "../store/recount/ledger.ts";

/** A finding about a note, and what sets it right. The head must be locked for that. */
export interface WrongNote {
  finding: Finding;
  mend?: (tx: Tx) => Promise<void>;
}

/** Looks whether what these receipts have sealed is noted, and noted of them. */
export async function findUnnoted(db: Queryable, documents: readonly ReceiptDocument[]): Promise<WrongNote[]> {
  const sealed = documents.map(sealedBy).filter((each) => each !== undefined);
  return (await Promise.all(sealed.map((right) => checkNote(db, right)))).flat();
}

/** Goes through the notes of a table, and gives those that name a receipt which does not seal them. */
export async function* findUnsealed(
  db: Queryable,
  table: "ledger_days" | "ledger_sessions",
): AsyncGenerator<WrongNote, void> {
  let after: SealedRow | undefined;
  for (;;) {
    const rows = await listSealed(db, table, after);
    if (rows.length === 0) return;
    const right = await Promise.all(rows.map((row) => isSealed(db, row)));
    for (const row of rows.filter((_, index) => !right[index])) {
      const finding = { ...nameOf(row), problem: `receipt ${row.seq} does not seal it` };
      yield { finding, mend: (tx) => deleteSealed(tx, row) };
    }
    after = rows.at(-1);
  }
}

async function checkNote(db: Queryable, right: SealedRow): Promise<WrongNote[]> {
  const seq = await findSealed(db, right);
  if (seq === right.seq) return [];
  const { subject, key } = nameOf(right);
  const mend = (tx: Tx) => putSealed(tx, right);
  if (seq === undefined) return [{ finding: { subject, key, problem: `receipt ${right.seq} is not noted` }, mend }];
  if (await isSealed(db, { ...right, seq })) {
    return [{ finding: { subject, key, problem: `receipts ${seq} and ${right.seq} both seal it` } }];
  }
  return compare(`${subject}.seq`, key, seq, right.seq).map((finding) => ({ finding, mend }));
}

/** Whether the receipt that a note names seals what it says. A receipt that cannot be read is a finding by itself. */
async function isSealed(db: Queryable, { book, date, seq }: SealedRow): Promise<boolean> {
  const receipt = await findReceipt(db, seq);
  if (receipt === undefined) return false;
  try {
    const sealed = sealedBy(JSON.parse(receipt.canonical.toString("utf8")));
    return sealed?.date === date && (book === null ? sealed.book === null : sealed.book?.equals(book) === true);
  } catch {
    return true;
  }
}

/** What a receipt seals beside itself; undefined where that is neither a day nor a session. */
function sealedBy({ seq, book, body }: ReceiptDocument): SealedRow | undefined {
  if (body.type === "daily") return { book: null, date: body.date, seq };
  return body.type === "session" ? { book: Buffer.from(book ?? ""), date: body.session, seq } : undefined;
}

function nameOf({ book, date }: SealedRow): Pick<Finding, "subject" | "key"> {
  return book === null
    ? { subject: "ledger_days", key: { date } }
    : { subject: "ledger_sessions", key: { book: book.toString("utf8"), session: date } };
}
