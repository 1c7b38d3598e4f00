import { badInput, StoaError } from "../../errors.ts";
import type { Json } from "../../receipt/canonical.ts";
import { lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import { findSealedSession, insertSealedSession } from "../../store/tables/seals.ts";
import { dateOf } from "../calendar.ts";
import { append, type Sealing } from "./append.ts";
import { checkDate } from "./day.ts";
import { checkPlain, sessionEvidence } from "./evidence.ts";

export interface SessionInput {
  book: string;
  session: string;
  note: string;
  source: string;
  evidence: { [name: string]: Json };
  actor: { agent: string; seat: string };
}

/**
 * Seals a session of a book.
 * @param input has passed the field rules of the contract
 * @throws StoaError `bad_input`; `exists` when this session of the book is already sealed; SealingBlocked while nothing
 * may be sealed
 */
export async function sealSession(sealing: Sealing, input: SessionInput): Promise<ReceiptRow> {
  const { tx, now } = sealing;
  const { book, session, note, source, actor } = input;
  checkDate(session, "session");
  if (session > dateOf(now)) throw badInput("session", "session is a day that has not come yet (UTC).");
  checkPlain(book, "book");
  checkPlain(note, "note");
  checkPlain(source, "source");
  checkPlain(actor.agent, "actor_agent");
  checkPlain(actor.seat, "actor_seat");
  const evidence = sessionEvidence(session, source, input.evidence);

  const head = await lockHead(tx);
  if (!(await insertSealedSession(tx, book, session, head.seq + 1))) {
    const seq = await findSealedSession(tx, book, session);
    throw new StoaError("exists", `Receipt ${seq} seals the session ${session} of this book.`, { field: "session" });
  }
  return append(sealing, head, {
    book,
    actor,
    evidence,
    body: ({ count, head }) => ({ type: "session", count, head, note, session }),
  });
}
