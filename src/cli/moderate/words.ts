// How messages of the contract look on a terminal.
import { nameOf } from "../../client/enum-names.ts";
import { ModerationAct, ModerationItem, ModerationReason, ModerationRole, type Removal } from "../../client/index.ts";

export const actName = (value: ModerationAct) => nameOf(ModerationAct, value);
export const itemName = (value: ModerationItem) => nameOf(ModerationItem, value);
export const roleName = (value: ModerationRole) => nameOf(ModerationRole, value);
export const reasonName = (value: ModerationReason | undefined) =>
  value === undefined ? "" : nameOf(ModerationReason, value);

/** A time of the contract. */
interface Time {
  seconds: bigint;
  nanos: number;
}

/** `2026-11-22 10:00`, UTC. */
export function timeText(time: Time | undefined): string {
  if (time === undefined) return "";
  const ms = Number(time.seconds) * 1000 + time.nanos / 1_000_000;
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

export function toTime(date: Date): Time {
  const ms = date.getTime();
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 };
}

/** `removed by the operator, spam, 2026-11-22 10:00` */
export function removalText({ by, reason, at }: Removal): string {
  const parts = [`removed by the ${roleName(by)}`, reasonName(reason), timeText(at)];
  return parts.filter((part) => part !== "").join(", ");
}

/** `1 post`, `2 posts` */
export function count(number: bigint, noun: string): string {
  return `${number} ${noun}${number === 1n ? "" : "s"}`;
}
