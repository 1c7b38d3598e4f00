import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { isVisible } from "../contract/field-rules.ts";
import { type Html, html } from "./html.ts";

const numbers = new Intl.NumberFormat("en");
const dates = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Writes a count with separators: 12,345. A negative one gets a real minus sign. */
export function count(value: bigint | number): string {
  if (value >= 0 && value < 1000) return String(value);
  return numbers.format(value).replace("-", "\u2212");
}

/** Writes a count with its noun: 1 comment, 2 comments. */
export function counted(value: bigint | number, noun: string): string {
  return `${count(value)} ${noun}${Number(value) === 1 ? "" : "s"}`;
}

/** Converts a timestamp to milliseconds since 1970 (UTC). */
export function toMs({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1000 + nanos / 1_000_000;
}

/** How long ago something happened, with the exact time as a tooltip. @param now in milliseconds */
export function ago(at: Timestamp | undefined, now: number): Html {
  if (at === undefined) return html``;
  const ms = toMs(at);
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}" title="${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC">${since(ms, now)}</time>`;
}

/** The minute of a time, which may be ahead: 2026-11-21 09:30 UTC. */
export function minuteOf(at: Timestamp): Html {
  const iso = new Date(toMs(at)).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

function since(ms: number, now: number): string {
  const age = now - ms;
  if (age < minute) return "just now";
  if (age < hour) return `${counted(Math.floor(age / minute), "minute")} ago`;
  if (age < day) return `${counted(Math.floor(age / hour), "hour")} ago`;
  if (age < 30 * day) return `${counted(Math.floor(age / day), "day")} ago`;
  return date(ms);
}

/** A date such as 21 November 2026, in UTC. */
function date(ms: number): string {
  return dates.format(ms);
}

/** Unicode controls of text direction. Without an element around them they could reverse the text that follows. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** A title, or `otherwise` if nothing in the title is visible: nobody could read or click its link. */
export function visibleTitle(title: string, otherwise: string): string {
  return isVisible(title) ? title : otherwise;
}

/**
 * Characters that neither XML 1.0 (section 2.2) nor HTML can express, not even as a character reference, and control
 * characters that HTML discourages.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters.
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]/g;

/** Replaces characters that markup may not hold with U+FFFD. They can only come from authors' texts. */
export function withoutForbidden(markup: string): string {
  return markup.toWellFormed().replace(forbidden, "\ufffd");
}

/** Prepares a text for titles and attributes, where no element can isolate its direction. */
export function plainLine(text: string): string {
  return text.replace(directions, "").replace(controls, " ");
}
