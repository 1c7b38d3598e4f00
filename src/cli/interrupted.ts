import type { Caller } from "./caller.ts";

/** A signal that aborts when one of these ends the command, or when the reader of the output has gone. */
export function interruptedBy(caller: Caller, signals: readonly ("SIGINT" | "SIGTERM")[]): AbortSignal {
  const interrupted = new AbortController();
  const stop = () => interrupted.abort(new Error("interrupted"));
  for (const name of signals) caller.once(name, stop);
  caller.stdout.on("error", stop);
  return interrupted.signal;
}
