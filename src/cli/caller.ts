import type { Readable, Writable } from "node:stream";

/** The process that runs a command: what it is told, where it reads and writes, and how it is interrupted. */
export interface Caller {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number };
  readonly stderr: Writable & { isTTY?: boolean; columns?: number };
  on(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

/** A signal that aborts when one of these ends the command, or when the reader of the output has gone. */
export function interruptedBy(caller: Caller, signals: readonly ("SIGINT" | "SIGTERM")[]): AbortSignal {
  const interrupted = new AbortController();
  const stop = () => interrupted.abort(new Error("interrupted"));
  // npm passes on a signal that the terminal has sent to the command already.
  for (const name of signals) caller.on(name, stop);
  caller.stdout.on("error", stop);
  return interrupted.signal;
}
