// What every attack on the service must leave true. docs/operating.md promises it.
import { expect } from "vitest";
import { faultsIn } from "./process.ts";
import { statusMiB } from "./status.ts";

const maxResidentMiB = 420;
/** How long any request of the neighbour may take. */
const maxNeighbourMs = 1_000;

/** What a request of a well-behaved client came to. */
export interface NeighbourReply {
  request: string;
  /** The message of the error where there was no reply. */
  status: number | string;
  ms: number;
}

/** The neighbour was answered well and in time, and each process stayed small and tells of no fault. */
export function expectServed(
  replies: readonly NeighbourReply[],
  services: readonly { pid: number; output: string }[],
): void {
  expect(replies.length).toBeGreaterThan(0);
  expect(replies.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
  expect(replies.filter(({ ms }) => ms > maxNeighbourMs)).toEqual([]);
  for (const { pid, output } of services) {
    expect(faultsIn(output)).toEqual([]);
    expect(statusMiB(pid, "VmHWM")).toBeLessThan(maxResidentMiB);
  }
}

/** The same as figures, for the report. */
export function describeAttack(replies: readonly NeighbourReply[], services: readonly { pid: number }[]): string {
  const slowest = Math.max(...replies.map(({ ms }) => ms));
  const residents = services.map(({ pid }) => `${statusMiB(pid, "VmHWM").toFixed(0)} MiB at most`);
  return `${replies.length} replies, the slowest after ${slowest.toFixed(0)} ms; ${residents.join(", ")}`;
}
