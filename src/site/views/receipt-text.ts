import type { JsonObject } from "@bufbuild/protobuf";
import type { Receipt } from "../../../gen/stoa/v1/receipt_pb.js";
import { type Html, html } from "../html.ts";
import { count } from "../text.ts";

/*
 * What a receipt says of itself, for people. A receipt that was tampered with may hold anything, or nothing that can be
 * read: its page must show that as well.
 */

/** A member of a document as text; undefined where there is none, or one that is no plain value. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

/** A member that is an object; an empty one where it is none. */
export function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** A value as JSON that is set out to be read; undefined for one that is nested too deep for that. */
export function prettyPrint(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, null, 2);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** One line that says what was sealed. */
export function describeReceipt({ document }: Receipt): string {
  const { body, book } = objectOf(document);
  const { type, session, date, abandoned_seq } = objectOf(body);
  if (type === "genesis") return "The beginning of the chain";
  if (type === "daily") return `The day ${textOf(date) ?? "of no date"}`;
  if (type === "session") return `Session of ${textOf(session) ?? "no date"}, book ${textOf(book) ?? "of no name"}`;
  if (type === "recovery") return `A recovery, which abandons receipt ${textOf(abandoned_seq) ?? "of no number"}`;
  return document === undefined
    ? "A document that cannot be read"
    : `Sealed as ${textOf(type) ?? "nothing known here"}`;
}

/** When it was sealed, as the document says. */
export function timeOf({ document }: Receipt): Html {
  const { ts, city_day } = objectOf(document);
  const time = textOf(ts);
  if (time === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time)) return html`at no known time`;
  const day = typeof city_day === "number" && Number.isSafeInteger(city_day) && city_day > 0 ? city_day : undefined;
  return html`<time datetime="${time}">${time.slice(0, 10)} ${time.slice(11, 19)} UTC</time>${
    day !== undefined && html` <span>day ${count(day)} of the city</span>`
  }`;
}

/** A hash in groups, so that people can compare two; copied, it is one word. */
export function groupedHash(hash: string): Html {
  return html`<code class="hash">${(hash.match(/.{1,8}/gsu) ?? []).map((group) => html`<span>${group}</span>`)}</code>`;
}
