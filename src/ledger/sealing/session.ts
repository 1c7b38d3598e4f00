import { badInput, type ErrorCode, StoaError } from "../../errors.ts";
import type { Json } from "../../receipt/canonical.ts";
import { lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import { findSealedSession, insertSealedSession } from "../../store/tables/seals.ts";
import { dateOf } from "../calendar.ts";
import { append, type Sealing } from "./append.ts";
import { checkDate } from "./day.ts";
import { checkPlain, sessionEvidence } from "./evidence.ts";

/** A session to be sealed. It has passed the field rules of the contract. */
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
 * @throws StoaError `bad_input`; `exists` when this session of the book is already sealed; SealingBlocked while nothing
 * may be sealed
 */
export async function sealSession(sealing: Sealing, input: SessionInput): Promise<ReceiptRow> {
  return appendSession(sealing, checkSession(input, sealing.now));
}

/**
 * Seals several sessions with consecutive numbers, in their order. An error must roll the transaction back: it may already have
 * appended the sessions before the one at fault.
 * @throws StoaError as `sealSession`, with the place of the session in the list; `bad_input` for one that is in it twice
 */
export async function sealSessions(sealing: Sealing, inputs: readonly SessionInput[]): Promise<ReceiptRow[]> {
  const places = new Map<string, number>();
  const checked: SessionInput[] = [];
  for (const [index, input] of inputs.entries()) {
    const name = JSON.stringify([input.book, input.session]);
    const first = places.get(name);
    places.set(name, index);
    checked.push(
      await inSession(index, () => {
        if (first !== undefined) throw badInput("session", `it has the book and the date of sessions[${first}].`);
        return checkSession(input, sealing.now);
      }),
    );
  }
  const receipts: ReceiptRow[] = [];
  for (const [index, input] of checked.entries())
    receipts.push(await inSession(index, () => appendSession(sealing, input)));
  return receipts;
}

/** The errors whose cause is one session of a list. */
const refusals: ReadonlySet<ErrorCode> = new Set(["bad_input", "exists", "forbidden"]);

/**
 * Runs what concerns one session of a list.
 * @throws StoaError; a refusal names the place of the session, such as `sessions[3].session`
 */
export async function inSession<Result>(index: number, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoaError) || !refusals.has(error.code)) throw error;
    const place = `sessions[${index}]`;
    const field = error.field === undefined ? place : `${place}.${error.field}`;
    throw new StoaError(error.code, `${place}: ${error.message}`, { field });
  }
}

/** @returns the session with its complete evidence. @throws StoaError `bad_input` */
function checkSession(input: SessionInput, now: number): SessionInput {
  const { book, session, note, source, actor } = input;
  checkDate(session, "session");
  if (session > dateOf(now)) throw badInput("session", "session is a day that has not come yet (UTC).");
  checkPlain(book, "book");
  checkPlain(note, "note");
  checkPlain(source, "source");
  checkPlain(actor.agent, "actor_agent");
  checkPlain(actor.seat, "actor_seat");
  return { ...input, evidence: sessionEvidence(session, source, input.evidence) };
}

async function appendSession(
  sealing: Sealing,
  { book, session, note, evidence, actor }: SessionInput,
): Promise<ReceiptRow> {
  const { tx } = sealing;
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
