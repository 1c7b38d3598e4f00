import type { Json } from "./canonical.ts";

/** The hash before the first receipt. */
export const zeroHash = "0".repeat(64);

/** The document of a receipt, in format version 1. FORMAT.md explains the members. */
export interface ReceiptDocument {
  v: 1;
  seq: number;
  kind: "seal";
  /** RFC 3339 in UTC with milliseconds: 2026-01-31T00:00:04.120Z */
  ts: string;
  city_day: number;
  book: string | null;
  actor: { agent: string; seat: string };
  prev_hash: string;
  refs: Json[];
  evidence: { [name: string]: Json };
  body: ReceiptBody;
}

export type ReceiptBody = GenesisBody | SessionBody | DailyBody | RecoveryBody;

interface GenesisBody {
  type: "genesis";
  count: 0;
  head: string;
  note: string;
}

interface SessionBody {
  type: "session";
  count: number;
  head: string;
  note: string;
  session: string;
}

interface DailyBody {
  type: "daily";
  count: number;
  date: string;
  head: string;
  head_seq: number;
  verify_ok: boolean;
}

/**
 * An operator's statement that receipts which were served are no longer part of the chain, as after a restored backup.
 */
interface RecoveryBody {
  type: "recovery";
  count: number;
  head: string;
  /** The newest receipt that was served and is abandoned. */
  abandoned_seq: number;
  abandoned_hash: string;
  note: string;
}

const bodiesWithNote: ReadonlySet<string> = new Set(["genesis", "session", "recovery"]);

const hashPattern = /^[0-9a-f]{64}$/;
const datePattern = /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const timePattern =
  /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/**
 * Finds the first member of a document that is missing, of the wrong type or out of its range, or a genesis in the wrong
 * place. Other members, and bodies of unknown types, belong to later versions and are accepted.
 * @param knownHash a valid hash: a member that equals it needs no further check
 * @returns the path of the first such member, or undefined
 */
export function findMalformedMember(document: Json, knownHash: string): string | undefined {
  if (!isObject(document)) return "document";
  const { v, seq, kind, ts, city_day, book, actor, prev_hash, refs, evidence, body } = document;
  if (v !== 1) return "v";
  if (!isCount(seq) || seq < 1) return "seq";
  if (typeof kind !== "string") return "kind";
  if (!isTime(ts)) return "ts";
  if (!isCount(city_day)) return "city_day";
  if (book !== null && typeof book !== "string") return "book";
  if (!isObject(actor)) return "actor";
  if (typeof actor.agent !== "string") return "actor.agent";
  if (typeof actor.seat !== "string") return "actor.seat";
  if (prev_hash !== knownHash && !isHash(prev_hash)) return "prev_hash";
  if (!Array.isArray(refs)) return "refs";
  if (!isObject(evidence)) return "evidence";
  if (!isObject(body)) return "body";
  // Receipt 1 is a genesis, and no other receipt is.
  if ((body.type === "genesis") !== (seq === 1)) return "body.type";
  return findMalformedBodyMember(body, knownHash);
}

function findMalformedBodyMember(body: { [name: string]: Json }, knownHash: string): string | undefined {
  const { type, count, head, note, session, date, head_seq, verify_ok, abandoned_seq, abandoned_hash } = body;
  if (typeof type !== "string") return "body.type";
  if (!isCount(count)) return "body.count";
  if (head !== knownHash && !isHash(head)) return "body.head";
  if (bodiesWithNote.has(type) && typeof note !== "string") return "body.note";
  if (type === "session" && !isDate(session)) return "body.session";
  if (type === "daily") {
    if (!isDate(date)) return "body.date";
    if (!isCount(head_seq)) return "body.head_seq";
    if (typeof verify_ok !== "boolean") return "body.verify_ok";
  }
  if (type === "recovery") {
    if (!isCount(abandoned_seq) || abandoned_seq < 1) return "body.abandoned_seq";
    if (!isHash(abandoned_hash)) return "body.abandoned_hash";
  }
  return undefined;
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Whether a value is a SHA-256 as receipts write it: 64 lower-case hexadecimal characters. */
export function isHash(value: Json | undefined): value is string {
  return typeof value === "string" && hashPattern.test(value);
}

/** Whether a value is a time that exists, in UTC with milliseconds: no leap second, no hour 24. */
export function isTime(value: Json | undefined): value is string {
  return typeof value === "string" && timePattern.test(value) && hasDayInMonth(value);
}

/** Whether a value is a date that exists, as YYYY-MM-DD. */
export function isDate(value: Json | undefined): value is string {
  return typeof value === "string" && datePattern.test(value) && hasDayInMonth(value);
}

/** Whether the month has this day, in text that begins with YYYY-MM-DD. The class Date takes ten times as long. */
function hasDayInMonth(text: string): boolean {
  const day = Number(text.slice(8, 10));
  return day <= 28 || day <= daysOf(Number(text.slice(0, 4)), Number(text.slice(5, 7)));
}

/** The number of days of a month in the Gregorian calendar. January is 1. */
function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
