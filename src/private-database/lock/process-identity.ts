// Process ids are reused. A process is identified by its id together with the time when it started.
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; equal only for the same process on the same boot of the same machine. */
  readonly started: string;
}

/** The process that has this id now; undefined when there is none, or only a zombie. */
export function identify(pid: number): ProcessIdentity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const started = process.platform === "linux" ? startedByProc(pid) : startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Whether the identified process is still running. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started;
}

/** Whether the process was started with this argument. */
export function wasGiven(pid: number, argument: string): boolean {
  try {
    if (process.platform === "linux") {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(argument);
    }
    // ps joins the arguments with spaces.
    return `${ps(pid, "command=")} `.includes(` ${argument} `);
  } catch {
    return false;
  }
}

/** Reads a stored identity; undefined for anything else. */
export function parseIdentity(value: unknown): ProcessIdentity | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { pid, started } = value as Record<string, unknown>;
  return typeof pid === "number" && typeof started === "string" ? { pid, started } : undefined;
}

/** Whether /proc belongs to this process namespace. In another one's /proc the ids are not the ids that signals use. */
function isOwnProc(): boolean {
  return readlinkSync("/proc/self") === String(process.pid);
}

function startedByProc(pid: number): string | undefined {
  try {
    if (!isOwnProc()) return undefined;
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the name, may hold spaces and brackets. After its last bracket the fields are regular (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, ticksSinceBoot] = [fields[0], fields[19]];
    if (state === "Z" || state === "X" || ticksSinceBoot === undefined) return undefined;
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}/${ticksSinceBoot}`;
  } catch {
    return undefined;
  }
}

function startedByPs(pid: number): string | undefined {
  try {
    const [state, ...started] = ps(pid, "stat=,lstart=").split(/\s+/);
    return state === undefined || state.startsWith("Z") ? undefined : started.join(" ");
  } catch {
    return undefined;
  }
}

function ps(pid: number, columns: string): string {
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  const stdio: ["ignore", "pipe", "ignore"] = ["ignore", "pipe", "ignore"];
  return execFileSync("ps", ["-ww", "-o", columns, "-p", String(pid)], { encoding: "utf8", env, stdio }).trim();
}
