import type { Readable, Writable } from "node:stream";

/** The process that runs a command: what it is told, where it reads and writes, and how it is interrupted. */
export interface Caller {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number };
  readonly stderr: Writable & { isTTY?: boolean; columns?: number };
  once(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}
