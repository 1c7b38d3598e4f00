import { badInput } from "../../errors.ts";
import { isDate } from "../../receipt/document.ts";
import { lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import { insertSealedDay } from "../../store/tables/seals.ts";
import { dateOf, dayMs, startOf } from "../calendar.ts";
import { type Verified, verifyFrom } from "../verification/verification.ts";
import { append, clerk, type Sealing, verificationPath } from "./append.ts";
import { publishedLog } from "./log-note.ts";
import { type HashedActs, sealModerations } from "./moderations.ts";

/** A day that is sealed more than this after its end, in milliseconds, is noted as sealed late. */
const lateMs = 5 * 60_000;

/** @throws StoaError `bad_input` unless `text` is a date that exists */
export function checkDate(text: string, field: string): void {
  if (!isDate(text)) throw badInput(field, `${field} is not a date of the calendar, YYYY-MM-DD.`);
}

/** @throws StoaError `bad_input` unless the day is over */
export function checkOver(date: string, now: number): void {
  checkDate(date, "date");
  if (date >= dateOf(now)) throw badInput("date", "date is a day that is not over yet (UTC).");
}

/** @throws StoaError `bad_input` unless the day is over and not before the day of the first receipt */
export function checkSealable(date: string, firstDay: string, now: number): void {
  checkDate(date, "date");
  if (date < firstDay) throw badInput("date", `date is before the first receipt, which is of ${firstDay}.`);
  checkOver(date, now);
}

/**
 * Seals a day that is over.
 * @param verified the result of a verification that just ended; receipts that were appended since are verified here,
 * under the lock
 * @param acts the result of `hashUnsealed`; acts of moderation since are hashed here
 * @returns the receipt, or undefined if the day is already sealed; and the result of the verification
 * @throws SealingBlocked while nothing may be sealed
 */
export async function sealDay(
  sealing: Sealing,
  date: string,
  verified: Verified,
  acts: HashedActs,
): Promise<{ receipt: ReceiptRow | undefined; verified: Verified }> {
  const { tx, now } = sealing;
  const head = await lockHead(tx);
  if (!(await insertSealedDay(tx, date, head.seq + 1))) return { receipt: undefined, verified };
  const complete = verified.finding === undefined ? await verifyFrom(tx, verified.link) : verified;
  const isLate = now - startOf(date) - dayMs > lateMs;
  const note = isLate
    ? "Sealed late: the service was not running, or could not seal, when this day ended."
    : "Sealed by the service's clock at the end of the day.";
  const log = await publishedLog(tx);
  const moderations = await sealModerations(tx, acts);
  const receipt = await append(sealing, head, {
    book: null,
    actor: clerk,
    evidence: { ...(log && { log }), moderations, note, source: verificationPath },
    body: ({ count, head }) => ({
      type: "daily",
      count,
      date,
      head,
      head_seq: count,
      verify_ok: complete.finding === undefined,
    }),
  });
  return { receipt, verified: complete };
}
