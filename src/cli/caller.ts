import type { Readable, Writable } from "node:stream";

/** The process that runs a command: what it is told, where it reads and writes, and how it is interrupted. */
export interface Caller {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number };
  readonly stderr: Writable & { isTTY?: boolean; columns?: number };
  on(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

/** A signal that aborts when the process gets one of these signals, or when nobody reads the output any more. */
export function interruptedBy(caller: Caller, signals: readonly ("SIGINT" | "SIGTERM")[]): AbortSignal {
  const interrupted = new AbortController();
  const stop = () => interrupted.abort(new Error("interrupted"));
  // The same signal may come twice: npm passes on what the terminal has already sent to the command.
  for (const name of signals) caller.on(name, stop);
  for (const stream of [caller.stdout, caller.stderr]) stream.on("error", stop);
  return interrupted.signal;
}
