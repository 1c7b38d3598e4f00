import type { Caller } from "./caller.ts";
import { Progress } from "./progress.ts";
import { terminalJson, terminalText } from "./terminal-text.ts";

/** Where a command reports: lines for people, or JSON objects for programs. Notes and progress on stderr are for people. */
export class Output {
  readonly isJson: boolean;
  readonly #stdout: Caller["stdout"];
  readonly #stderr: Caller["stderr"];
  readonly #progress: Progress;

  /** @param counted what the progress counts */
  constructor({ stdout, stderr }: Caller, isJson: boolean, counted: string) {
    this.isJson = isJson;
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#progress = new Progress(stderr, counted);
  }

  /** Shows people that `done` of `total` are done. */
  progress(done: number, total: number): void {
    if (!this.isJson) this.#progress.show(done, total);
  }

  /** Tells people something besides the results. */
  note(text: string): void {
    if (this.isJson) return;
    this.#progress.clear();
    this.#stderr.write(`stoa: ${terminalText(text)}\n`);
  }

  /** Prints a result: the object for programs, or the lines for people. */
  print(object: object, ...lines: string[]): void {
    if (this.isJson) {
      this.printJson(object);
      return;
    }
    this.#progress.clear();
    for (const line of lines) this.#stdout.write(`${terminalText(line)}\n`);
  }

  /** Like `print`, for the end of a check. If `ok` is null, nothing is known, and people read why on stderr. */
  end<Given extends { ok: boolean | null }>(object: Given, ...lines: string[]): void {
    if (this.isJson || object.ok !== null) this.print(object, ...lines);
    else for (const line of lines) this.note(line);
  }

  /** Prints an object in one line, for people too. */
  printJson(object: object): void {
    this.#stdout.write(`${terminalJson(object)}\n`);
  }
}
