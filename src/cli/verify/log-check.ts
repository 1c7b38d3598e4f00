import { isObject } from "../../client/error.ts";
import type { VerifiedReceipt } from "../../client/receipts.ts";
import { LogFinding } from "../../client/signed-log/finding.ts";
import { checkProof, findProof } from "../../client/signed-log/prove.ts";
import { type KnownLog, SignedLog } from "../../client/signed-log/signed-log.ts";
import { LogSource } from "../../client/signed-log/source.ts";
import type { Json } from "../../receipt/canonical.ts";
import { isHash } from "../../receipt/document.ts";
import { fromHex, fromUtf8 } from "../../tlog/encoding.ts";
import { formatVkey } from "../../tlog/notes/key.ts";
import { hashBytes } from "../../tlog/tree/hashing.ts";
import { isSize } from "../../tlog/tree/ranges.ts";
import type { RememberedLog } from "../state.ts";

/** From this age on a receipt must be in the log, in milliseconds. */
const loggedAfterMs = 60_000;

/** Checks the log of a service against its chain: the trees that daily receipts name, and the entry of the newest receipt. */
export class LogCheck {
  readonly #root: string;
  readonly #signal: AbortSignal;
  /** Undefined while the service has no log. One may begin later. */
  #log: SignedLog | undefined;
  /** The newest receipt that was old enough to be in the log when it was read. */
  #due: { seq: number; hash: string } | undefined;
  /** Whether a receipt has named this log. */
  #begun = false;

  private constructor(root: string, signal: AbortSignal) {
    this.#root = root;
    this.#signal = signal;
  }

  /**
   * Opens the log of the service with a root address, if it has one.
   * @throws LogFinding, TlogError; StoaError; the signal's reason
   */
  static async open(root: string, known: KnownLog, signal: AbortSignal): Promise<LogCheck> {
    const check = new LogCheck(root, signal);
    await check.#open(known);
    if (check.#log === undefined && known.key !== undefined) {
      throw new LogFinding("gone", "the service has no log any more");
    }
    return check;
  }

  async #open(known: KnownLog): Promise<SignedLog | undefined> {
    this.#log = await SignedLog.open(new LogSource(`${this.#root}/log`, this.#signal), known, this.#signal);
    return this.#log;
  }

  /** What the state file is to remember of the log; undefined if there is none. */
  get memory(): RememberedLog | undefined {
    return this.#log && { vkey: formatVkey(this.#log.key), checkpoint: fromUtf8(this.#log.note) as string };
  }

  /** What the result says of the log; undefined if there is none. */
  get summary() {
    const { memory } = this;
    if (this.#log === undefined || memory === undefined) return undefined;
    const { key, checkpoint } = this.#log;
    return { origin: key.name, size: checkpoint.size, ...memory };
  }

  /**
   * Takes the next receipt of the chain. What a daily receipt says of the log is compared with the log itself.
   * @param isNew whether no earlier verification has compared it with the log
   * @param isRemembered whether the log had a checkpoint before this receipt
   * @throws LogFinding, TlogError; StoaError
   */
  async take({ link, document }: VerifiedReceipt, isNew: boolean, isRemembered: boolean): Promise<void> {
    if (Date.parse(document.ts) <= Date.now() - loggedAfterMs) this.#due = link;
    const { log: sealed } = document.evidence;
    if (document.body.type !== "daily") return;
    if (sealed === undefined || sealed === null) {
      // Before the first checkpoint, daily receipts do not name the log.
      if (!this.#begun && !isRemembered) return;
      throw new LogFinding("wrong_root", "it does not name the log, which had a checkpoint before", link.seq);
    }
    const tree = readTree(sealed);
    if (tree === undefined) throw new LogFinding("wrong_root", "what it says of the log is malformed", link.seq);
    const log = this.#log ?? (await this.#open({}));
    if (log === undefined)
      throw new LogFinding("gone", "it seals the root of a log, and the service has none", link.seq);
    if (tree.origin !== log.key.name) {
      // A log that began anew replaces the one of earlier receipts.
      if (!this.#begun && (await log.first()).previous !== undefined) return;
      throw new LogFinding("other_origin", "it seals the root of another log", link.seq);
    }
    this.#begun = true;
    if (!isNew) return;
    const fault = await log.covers(tree);
    if (fault === undefined) return;
    const words = fault === "shrunk" ? `it has only ${log.checkpoint.size}` : "its root was another one";
    throw new LogFinding("wrong_root", `it seals the log with ${tree.size} entries, and ${words}`, link.seq);
  }

  /** Checks that the log has the newest receipt that is old enough. @throws LogFinding, TlogError; StoaError */
  async checkNewest(): Promise<void> {
    if (this.#log === undefined || this.#due === undefined) return;
    const { seq, hash } = this.#due;
    const found = await findProof(this.#root, `house/receipts/${seq}`, false, this.#signal);
    if (found === undefined) throw new LogFinding("not_logged", "the log does not have it", seq);
    await checkProof(found, { kind: "receipt", seq, hash }, this.#log);
  }
}

function readTree(sealed: Json): { origin: string; size: number; root: Uint8Array } | undefined {
  if (!isObject(sealed)) return undefined;
  const { origin, size, root } = sealed;
  if (typeof origin !== "string" || typeof size !== "number" || !isSize(size) || !isHash(root)) return undefined;
  return { origin, size, root: fromHex(root, hashBytes) as Uint8Array };
}
