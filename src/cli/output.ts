import type { VerifiedReceipt } from "../client/receipts.ts";
import { Progress, type Terminal } from "./progress.ts";
import type { Remembered } from "./state.ts";
import { escapeUnsafe, terminalJson, terminalText } from "./terminal-text.ts";

/** The result of a verification, so far or at the end. */
export interface Result {
  /** Null while nothing is known of the chain. */
  ok: boolean | null;
  url: string;
  from: number;
  /** The last receipt that was checked. */
  to: number;
  /** The number of good receipts. */
  count: number;
  /** The hash of the last good receipt. */
  head: string | null;
  /** The first receipt that does not verify. */
  brokenAt: number | null;
  /** A code, a colon, and a text for people. */
  reason: string | null;
  remembered: Remembered | undefined;
  /** The log of the service; undefined if it has none, or nothing is known of it. */
  log: LogSummary | undefined;
  durationMs: number;
}

/** A log that verifies. */
export interface LogSummary {
  origin: string;
  vkey: string;
  size: number;
  /** The signed note. */
  checkpoint: string;
}

/** Where the command reports its results. */
export interface Output {
  progress(done: number, total: number): void;
  /** The chain is verified up to the head that the service reported, and the command continues. */
  caughtUp(result: Result): void;
  /** A receipt that was sealed after that. */
  receipt(receipt: VerifiedReceipt): void;
  notice(text: string): void;
  end(result: Result): void;
}

/** The types of receipts that are printed by name. */
const knownTypes: ReadonlySet<string> = new Set(["genesis", "session", "daily", "recovery"]);

/** One object a line, for programs. */
export class JsonOutput implements Output {
  readonly #stdout: Terminal;

  constructor(stdout: Terminal) {
    this.#stdout = stdout;
  }

  progress(): void {}
  caughtUp(): void {}
  notice(): void {}

  receipt({ link, document }: VerifiedReceipt): void {
    const { kind, ts, book, body } = document;
    this.#write({ seq: link.seq, hash: link.hash, prev_hash: document.prev_hash, kind, ts, book, type: body.type });
  }

  end({ ok, url, from, to, count, head, brokenAt, reason, remembered, log, durationMs }: Result): void {
    this.#write({
      ok,
      url,
      from,
      to,
      count,
      head,
      broken_at: brokenAt,
      reason,
      remembered: remembered === undefined ? null : { seq: remembered.seq, hash: remembered.hash },
      log: log ?? null,
      duration_ms: Math.round(durationMs),
    });
  }

  #write(value: object): void {
    this.#stdout.write(`${terminalJson(value)}\n`);
  }
}

/** Lines for people: results on stdout, everything else on stderr. */
export class HumanOutput implements Output {
  readonly #stdout: Terminal;
  readonly #stderr: Terminal;
  readonly #progress: Progress;

  constructor(stdout: Terminal, stderr: Terminal) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#progress = new Progress(stderr);
  }

  progress(done: number, total: number): void {
    this.#progress.show(done, total);
  }

  caughtUp(result: Result): void {
    this.end(result);
  }

  receipt({ link, document }: VerifiedReceipt): void {
    // Only texts with a fixed form may be printed on a terminal.
    const { type } = document.body as { type: string };
    const known = knownTypes.has(type) ? type : "other";
    this.#say(`receipt ${link.seq}: ${document.ts} ${known} ${link.hash}`);
  }

  notice(text: string): void {
    this.#progress.clear();
    this.#stderr.write(`stoa: ${escapeUnsafe(text)}\n`);
  }

  end(result: Result): void {
    const { ok, url, from, to, count, head, brokenAt, reason, remembered, log } = result;
    if (ok === null) {
      const good = count > 0 ? `; receipts ${from} to ${to} were good so far` : "";
      this.notice(`${url} could not be verified: ${reason}${good}`);
    } else if (!ok) {
      const [code, words] = reason?.split(/: (.*)/s) ?? [];
      if (code === "history_changed") this.#say(`history has changed since ${remembered?.time}: ${words}`);
      else this.#say(`${brokenAt === null ? "the log" : `receipt ${brokenAt}`} does not verify: ${reason}`);
    } else if (count === 0) {
      this.#say(`there is no receipt after ${to} of ${url} yet: head ${head}`);
    } else {
      this.#say(`verified receipts ${from} to ${to} of ${url}: head ${head}`);
    }
    if (ok && log !== undefined) {
      this.#say(terminalText(`verified the log ${log.origin}: ${log.size} entries, signed by ${log.vkey}`));
    }
  }

  #say(text: string): void {
    this.#progress.clear();
    this.#stdout.write(`${escapeUnsafe(text)}\n`);
  }
}
