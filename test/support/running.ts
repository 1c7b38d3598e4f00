import { readFileSync } from "node:fs";

/** Whether a process runs. One that has ended, and whose parent has not asked yet, does not. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name in brackets comes the state; see proc(5).
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}
