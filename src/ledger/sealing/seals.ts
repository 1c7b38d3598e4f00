import { badInput, StoaError } from "../../errors.ts";
import type { Json } from "../../receipt/canonical.ts";
import { isDate, zeroHash } from "../../receipt/document.ts";
import { lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import { insertSealedDay, insertSealedSession } from "../../store/tables/seals.ts";
import { type Verified, verifyFrom } from "../verification/verification.ts";
import { append, clerk, dateOf, dayMs, type Sealing, startOf, verificationPath } from "./append.ts";
import { checkPlain, sessionEvidence } from "./evidence.ts";

/** A day sealed later than this after its end, in milliseconds, says so. */
const lateMs = 5 * 60_000;

/** Seals receipt 1 where the chain is empty. @returns undefined where it is not */
export async function sealGenesis(sealing: Sealing): Promise<ReceiptRow | undefined> {
  const head = await lockHead(sealing.tx);
  if (head.seq > 0) return undefined;
  return append(sealing, head, {
    book: null,
    actor: clerk,
    evidence: { note: "Sealed by the first start of this ledger.", source: verificationPath },
    body: () => ({ type: "genesis", count: 0, head: zeroHash, note: "The first receipt: nothing comes before it." }),
  });
}

export interface SessionInput {
  book: string;
  session: string;
  note: string;
  source: string;
  evidence: { [name: string]: Json };
  actor: { agent: string; seat: string };
}

/**
 * Seals a session of a book; `input` has passed the field rules.
 * @throws StoaError `bad_input`; `exists` when this session of the book is sealed; SealingBlocked while nothing may be sealed
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
    throw new StoaError("exists", `The session ${session} of this book is sealed.`, { field: "session" });
  }
  return append(sealing, head, {
    book,
    actor,
    evidence,
    body: ({ count, head }) => ({ type: "session", count, head, note, session }),
  });
}

/** A day that may be sealed by hand: since the first receipt's, and over. @throws StoaError `bad_input` */
export function checkSealable(date: string, firstDay: string, now: number): void {
  checkDate(date, "date");
  if (date < firstDay) throw badInput("date", `date is before the first receipt, which is of ${firstDay}.`);
  checkOver(date, now);
}

/** A day that is over. @throws StoaError `bad_input` */
export function checkOver(date: string, now: number): void {
  checkDate(date, "date");
  if (date >= dateOf(now)) throw badInput("date", "date is a day that is not over yet (UTC).");
}

/**
 * Seals a day that is over. `verified` is what verifying the chain gave a moment ago; what was appended since is verified
 * here, under the lock.
 * @returns the receipt, or undefined when the day is sealed already; and what the chain was found to be
 * @throws SealingBlocked while nothing may be sealed
 */
export async function sealDay(
  sealing: Sealing,
  date: string,
  verified: Verified,
): Promise<{ receipt: ReceiptRow | undefined; verified: Verified }> {
  const { tx, now } = sealing;
  const head = await lockHead(tx);
  if (!(await insertSealedDay(tx, date, head.seq + 1))) return { receipt: undefined, verified };
  const settled = verified.finding === undefined ? await verifyFrom(tx, verified.link) : verified;
  const late = now - startOf(date) - dayMs > lateMs;
  const note = late
    ? "Sealed late: the service was not running, or could not seal, when this day ended."
    : "Sealed by the service's clock at the end of the day.";
  const receipt = await append(sealing, head, {
    book: null,
    actor: clerk,
    evidence: { note, source: verificationPath },
    body: ({ count, head }) => ({
      type: "daily",
      count,
      date,
      head,
      head_seq: count,
      verify_ok: settled.finding === undefined,
    }),
  });
  return { receipt, verified: settled };
}

function checkDate(text: string, field: string): void {
  if (!isDate(text)) throw badInput(field, `${field} is not a date of the calendar, YYYY-MM-DD.`);
}
