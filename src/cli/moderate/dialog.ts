import { createInterface } from "node:readline/promises";
import type { Caller } from "../caller.ts";
import { escapeUnsafe } from "../terminal-text.ts";

/** Where the command writes and asks. */
export interface Dialog {
  /** Prints a result: the object for programs, or the lines for people. */
  print(object: object, ...lines: string[]): void;
  /** Prints lines of the result for people. Programs do not need them. */
  say(...lines: string[]): void;
  /** Prints a line for the person at the terminal. */
  note(line: string): void;
  /** Whether there is somebody to ask. */
  readonly canAsk: boolean;
  /** Asks a question. @returns whether the answer is yes */
  ask(question: string): Promise<boolean>;
}

/** A dialog on standard input and error, so that the result can be redirected. */
export function createDialog({ stdin, stdout, stderr }: Caller, isJson: boolean, signal: AbortSignal): Dialog {
  const write = (lines: string[]) => {
    for (const line of lines) stdout.write(`${escapeUnsafe(line)}\n`);
  };
  return {
    print: (object, ...lines) => write(isJson ? [JSON.stringify(object)] : lines),
    say: (...lines) => write(isJson ? [] : lines),
    note: (line) => void stderr.write(`${escapeUnsafe(line)}\n`),
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    async ask(question) {
      // After an earlier question the input may have ended. Another one would wait for ever.
      if (stdin.readableEnded) return false;
      const asking = createInterface({ input: stdin, output: stderr });
      // Ctrl-D ends the input without an answer, and so does Ctrl-C. In some versions of Node.js the question then rejects, in
      // others it never ends.
      const ended = new Promise<string>((resolve) => asking.once("close", () => resolve("")));
      const answered = asking.question(`${question} [y/N] `, { signal }).catch(() => "");
      try {
        const answer = await Promise.race([answered, ended]);
        return /^\s*y(es)?\s*$/i.test(answer);
      } finally {
        asking.close();
      }
    },
  };
}
