import { readFileSync } from "node:fs";

/** A figure of /proc/PID/status, in MiB. */
export function statusMiB(pid: number, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1]) / 1024;
}
