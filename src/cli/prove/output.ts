import { formatVkey, type NoteKey } from "../../tlog/notes/key.ts";
import type { VerifiedItem } from "../../tlog/proofs/verify-item.ts";
import type { Outcome } from "../outcome.ts";
import type { Terminal } from "../progress.ts";
import { terminalJson, terminalText } from "../terminal-text.ts";

export interface ProveResult extends Outcome {
  /** What was to be proved: an item of a service, or a file. */
  of: { url: string; item: string } | { file: string };
  /** Of the log of a service. */
  vkey?: string | undefined;
  /** Undefined if it was not. */
  proved: VerifiedItem | undefined;
  author: { id: number; name: string } | undefined;
}

/** Reports proofs: to people, or as JSON. */
export class ProveOutput {
  readonly #stdout: Terminal;
  readonly #stderr: Terminal;
  readonly #json: boolean;

  constructor(stdout: Terminal, stderr: Terminal, json: boolean) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#json = json;
  }

  /** Nobody but the log has said what its key is. */
  unpinned(key: NoteKey): void {
    const text = `the log says that its key is ${formatVkey(key)}; compare it with one that you trust`;
    if (!this.#json) this.#stderr.write(`stoa: ${terminalText(text)}\n`);
  }

  end(result: ProveResult): void {
    if (this.#json) this.#stdout.write(`${terminalJson(asJson(result))}\n`);
    else this.#say(result);
  }

  #say({ ok, of, reason, proved, author }: ProveResult): void {
    const name = "file" in of ? of.file : `${of.item} of ${of.url}`;
    if (ok === null) {
      this.#stderr.write(`stoa: ${terminalText(`${name} could not be checked: ${reason}`)}\n`);
    } else if (proved === undefined) {
      this.#stdout.write(`${terminalText(`${name} is not proved: ${reason}`)}\n`);
    } else {
      const { checkpoint, index, entry, content } = proved;
      const { origin, size } = checkpoint;
      const by = author === undefined ? "" : `, by ${author.name}`;
      const place = `entry ${index} of ${size} in ${origin}`;
      this.#stdout.write(`${terminalText(`${name} is proved: ${typeOf(entry)}${by}, ${entry.ts}, ${place}`)}\n`);
      if (content !== undefined) this.#stdout.write(`${terminalJson(content)}\n`);
    }
  }
}

function asJson({ ok, of, vkey, proved, author, reason }: ProveResult): object {
  const { checkpoint, index, entry, content } = proved ?? {};
  return {
    ok,
    ...of,
    origin: checkpoint?.origin ?? null,
    vkey: vkey ?? null,
    index: index ?? null,
    size: checkpoint?.size ?? null,
    type: entry === undefined ? null : typeOf(entry),
    ts: entry?.ts ?? null,
    content: content ?? null,
    author: author ?? null,
    reason,
  };
}

function typeOf(entry: VerifiedItem["entry"]): string {
  return entry.type === "unknown" ? entry.named : entry.type;
}
