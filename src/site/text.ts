import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type Html, html } from "./html.ts";

const numbers = new Intl.NumberFormat("en");
const dates = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A count with its thousands apart: 12,345. The minus sign is a real one. */
export function count(value: bigint | number): string {
  if (value >= 0 && value < 1000) return String(value);
  return numbers.format(value).replace("-", "\u2212");
}

/** A count with its noun: 1 comment, 2 comments. */
export function counted(value: bigint | number, noun: string): string {
  return `${count(value)} ${noun}${Number(value) === 1 ? "" : "s"}`;
}

/** A time in milliseconds since 1970 (UTC). */
export function toMs({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1000 + nanos / 1_000_000;
}

/** When something was, as people say it, with the exact time at hand. `now` in milliseconds. */
export function ago(at: Timestamp | undefined, now: number): Html {
  if (at === undefined) return html``;
  const ms = toMs(at);
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}" title="${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC">${since(ms, now)}</time>`;
}

function since(ms: number, now: number): string {
  const age = now - ms;
  if (age < minute) return "just now";
  if (age < hour) return `${counted(Math.floor(age / minute), "minute")} ago`;
  if (age < day) return `${counted(Math.floor(age / hour), "hour")} ago`;
  if (age < 30 * day) return `${counted(Math.floor(age / day), "day")} ago`;
  return date(ms);
}

/** 21 November 2026, in UTC. */
export function date(ms: number): string {
  return dates.format(ms);
}

/** A text that is no longer than `length` code units, cut between words where there are any, and never within a character. */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const space = text.lastIndexOf(" ", length);
  const end = space > length / 2 ? space : length;
  return `${text
    .slice(0, end)
    .toWellFormed()
    .replace(/\ufffd$/, "")}…`;
}

/** Overrides and isolates of direction, which could turn what stands beside a text around where no element keeps them in. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are for.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** What has no width and no ink, alone or together. */
const invisible = /^[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** A title, or what stands for one of which nothing can be seen: its link could neither be read nor followed. */
export function visibleTitle(title: string, otherwise: string): string {
  return invisible.test(title) ? otherwise : title;
}

/**
 * What neither XML 1.0 (its section 2.2) nor HTML has a way to say, not even by a reference, and the controls that HTML
 * only frowns upon.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it is for.
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]/g;

/** Markup in which texts of others stand, without the characters that no markup may hold. It has none of them itself. */
export function withoutForbidden(markup: string): string {
  return markup.toWellFormed().replace(forbidden, "\ufffd");
}

/** A text for titles, attributes and other places where no element could keep its direction from its surroundings. */
export function plainLine(text: string): string {
  return text.replace(directions, "").replace(controls, " ");
}
