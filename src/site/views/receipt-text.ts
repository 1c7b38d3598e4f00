import type { JsonObject } from "@bufbuild/protobuf";
import type { Receipt } from "../../../gen/stoa/v1/receipt_pb.js";
import { type Html, html } from "../html.ts";
import { count } from "../text.ts";

/*
 * Describes receipts for people. A receipt that was tampered with may hold anything, or nothing readable. Its page must
 * still show it.
 */

/** A member of a document as text; undefined if it is missing or not a plain value. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

/** A member of a document as an object; an empty object if it is not one. */
export function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** Formats a value as indented JSON; undefined if it is nested too deeply. */
export function prettyPrint(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, null, 2);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Describes in one line what was sealed. */
export function describeReceipt({ document }: Receipt): string {
  const { body, book } = objectOf(document);
  const { type, session, date, abandoned_seq } = objectOf(body);
  if (type === "genesis") return "The start of the chain";
  if (type === "daily") return `The day ${textOf(date) ?? "of no date"}`;
  if (type === "session") return `Session of ${textOf(session) ?? "no date"}, book ${textOf(book) ?? "of no name"}`;
  if (type === "recovery") return `A recovery, which abandons receipt ${textOf(abandoned_seq) ?? "of no number"}`;
  return document === undefined
    ? "A document that cannot be read"
    : `Sealed as ${textOf(type) ?? "nothing known here"}`;
}

/** The time of sealing, from the document. */
export function timeOf({ document }: Receipt): Html {
  const { ts, city_day } = objectOf(document);
  const time = textOf(ts);
  if (time === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time)) return html`at no known time`;
  const day = typeof city_day === "number" && Number.isSafeInteger(city_day) && city_day > 0 ? city_day : undefined;
  return html`<time datetime="${time}">${time.slice(0, 10)} ${time.slice(11, 19)} UTC</time>${
    day !== undefined && html` <span>day ${count(day)} of the city</span>`
  }`;
}

/** A hash in groups of digits, which are easier to compare. When copied, it is one word. */
export function groupedHash(hash: string): Html {
  return html`<code class="hash">${(hash.match(/.{1,8}/gsu) ?? []).map((group) => html`<span>${group}</span>`)}</code>`;
}
