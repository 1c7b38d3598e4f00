import type { Json } from "./canonical.ts";

/** The hash before the first receipt. */
export const zeroHash = "0".repeat(64);

/** What a receipt seals; format version 1. FORMAT.md says what each member means. */
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

export type ReceiptBody = GenesisBody | SessionBody | DailyBody;

export interface GenesisBody {
  type: "genesis";
  count: 0;
  head: string;
  note: string;
}

export interface SessionBody {
  type: "session";
  count: number;
  head: string;
  note: string;
  session: string;
}

export interface DailyBody {
  type: "daily";
  count: number;
  date: string;
  head: string;
  head_seq: number;
  verify_ok: boolean;
}

const hashPattern = /^[0-9a-f]{64}$/;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Looks for a member of a document that is missing, of the wrong type or out of its range, also in a body of a type that is
 * known here. Members besides, and bodies of other types, are for later versions to explain and are let pass.
 * @returns the path of the first such member, or undefined
 */
export function findMalformedMember(document: Json): string | undefined {
  if (!isObject(document)) return "document";
  const { v, seq, kind, ts, city_day, book, actor, prev_hash, refs, evidence, body } = document;
  if (v !== 1) return "v";
  if (!isCount(seq) || seq < 1) return "seq";
  if (typeof kind !== "string") return "kind";
  if (typeof ts !== "string" || !isTime(ts)) return "ts";
  if (!isCount(city_day)) return "city_day";
  if (book !== null && typeof book !== "string") return "book";
  if (!isObject(actor)) return "actor";
  if (typeof actor.agent !== "string") return "actor.agent";
  if (typeof actor.seat !== "string") return "actor.seat";
  if (!isHash(prev_hash)) return "prev_hash";
  if (!Array.isArray(refs)) return "refs";
  if (!isObject(evidence)) return "evidence";
  if (!isObject(body)) return "body";
  return findMalformedBodyMember(body);
}

function findMalformedBodyMember(body: { [name: string]: Json }): string | undefined {
  const { type, count, head, note, session, date, head_seq, verify_ok } = body;
  if (typeof type !== "string") return "body.type";
  if (!isCount(count)) return "body.count";
  if (!isHash(head)) return "body.head";
  if ((type === "genesis" || type === "session") && typeof note !== "string") return "body.note";
  if (type === "session" && !isDate(session)) return "body.session";
  if (type === "daily") {
    if (!isDate(date)) return "body.date";
    if (!isCount(head_seq)) return "body.head_seq";
    if (typeof verify_ok !== "boolean") return "body.verify_ok";
  }
  return undefined;
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isHash(value: Json | undefined): value is string {
  return typeof value === "string" && hashPattern.test(value);
}

function isTime(text: string): boolean {
  return timePattern.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text;
}

/** A date that exists, as YYYY-MM-DD. */
export function isDate(value: Json | undefined): value is string {
  return typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) && isTime(`${value}T00:00:00.000Z`);
}
