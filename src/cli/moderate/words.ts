// How messages of the contract look on a terminal.
import type { Removal } from "../../client/index.ts";

/** How wide a line is. */
export const columns = 80;

/** `2026-11-22 10:00`, UTC. */
export function timeText(time: string | undefined): string {
  return time === undefined ? "" : time.slice(0, 16).replace("T", " ");
}

/** `removed by the operator, spam, 2026-11-22 10:00` */
export function removalText({ by, reason, at }: Removal): string {
  const parts = [`removed by the ${by}`, reason ?? "", timeText(at)];
  return parts.filter((part) => part !== "").join(", ");
}

/** `1 post`, `2 posts` */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
