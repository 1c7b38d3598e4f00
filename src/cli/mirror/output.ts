import { toBase64 } from "../../tlog/encoding.ts";
import { formatVkey, type NoteKey } from "../../tlog/notes/key.ts";
import type { Outcome } from "../outcome.ts";
import { Progress, type Terminal } from "../progress.ts";
import { terminalJson, terminalText } from "../terminal-text.ts";

export interface MirrorResult extends Outcome {
  url: string;
  dir: string;
  /** Null as long as nothing is known of the log. */
  origin: string | null;
  vkey: string | null;
  /** How many entries the folder had, and how many it has. */
  from: number;
  to: number;
  root: Uint8Array | null;
  durationMs: number;
}

/** Reports a copy: to people, or as one JSON object. */
export class MirrorOutput {
  readonly #stdout: Terminal;
  readonly #stderr: Terminal;
  readonly #json: boolean;
  readonly #progress: Progress;

  constructor(stdout: Terminal, stderr: Terminal, json: boolean) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#json = json;
    this.#progress = new Progress(stderr, "entries");
  }

  progress(done: number, total: number): void {
    if (!this.#json) this.#progress.show(done, total);
  }

  /** Nobody but the log has said what its key is. */
  unpinned(key: NoteKey): void {
    if (!this.#json) this.#note(`the log says that its key is ${formatVkey(key)}; compare it with one that you trust`);
  }

  end({ ok, url, dir, origin, vkey, from, to, root, reason, durationMs }: MirrorResult): void {
    if (this.#json) {
      const hash = root === null ? null : toBase64(root);
      const result = { ok, url, dir, origin, vkey, from, to, root: hash, reason };
      this.#stdout.write(`${terminalJson({ ...result, duration_ms: Math.round(durationMs) })}\n`);
      return;
    }
    this.#progress.clear();
    if (ok === null) this.#note(`${url} could not be copied: ${reason}`);
    else if (!ok) this.#stdout.write(`${terminalText(`the log of ${url} does not verify: ${reason}`)}\n`);
    else this.#stdout.write(`${terminalText(`${dir} has ${to} entries of ${origin}, ${to - from} of them new`)}\n`);
  }

  #note(text: string): void {
    this.#progress.clear();
    this.#stderr.write(`stoa: ${terminalText(text)}\n`);
  }
}
