import {
  BeyondHead,
  DoesNotVerify,
  type Head,
  readHead,
  StoaError,
  type VerifiedReceipt,
  verifyReceipts,
} from "../../client/receipts.ts";
import { findingOf } from "../../client/signed-log/finding.ts";
import type { KnownLog } from "../../client/signed-log/signed-log.ts";
import type { Link } from "../../receipt/verify.ts";
import { exitStatus } from "../command.ts";
import { knownLog, parseLogKey } from "../log-key.ts";
import { outcomeOf } from "../outcome.ts";
import type { Output } from "../output.ts";
import type { Remembered, StateFile } from "../state.ts";
import { UsageError } from "../usage.ts";
import type { VerifyArguments } from "./arguments.ts";
import { LogCheck } from "./log-check.ts";
import { type Result, reportReceipt, reportResult } from "./report.ts";

/**
 * Verifies a chain and the log beside it, remembers their ends, and reports the results to the output.
 * @param signal ends a verification with `follow`
 * @returns the exit status
 * @throws UsageError or StateError
 */
export async function verify(
  options: VerifyArguments,
  state: StateFile,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  const remembered = state.load();
  const known = await knownLog(await parseLogKey(options.logKey), remembered?.log);
  state.prepare();
  const verification = new Verification(options, remembered, known, state, output);
  const begun = performance.now();
  let status: number;
  try {
    await verification.run(signal);
    status = exitStatus.done;
  } catch (error) {
    status = verification.fail(error, signal);
  }
  reportResult(output, { ...verification.result, durationMs: performance.now() - begun });
  if (status === exitStatus.done) verification.remember();
  return status;
}

class Verification {
  readonly result: Result;
  readonly #follow: boolean;
  readonly #state: StateFile;
  readonly #output: Output;
  readonly #known: KnownLog;
  /** Undefined before the run. */
  #log: LogCheck | undefined;
  /** The last good receipt. */
  #last: Link | undefined;
  /** Whether the chain is verified up to the head that the service reported. */
  #live = false;

  constructor(
    { url, from: asked, follow }: VerifyArguments,
    remembered: Remembered | undefined,
    known: KnownLog,
    state: StateFile,
    output: Output,
  ) {
    if (asked === "last" && remembered === undefined) {
      throw new UsageError("--from last: nothing is remembered of this address; verify it from the start first");
    }
    const from = asked === "last" ? (remembered?.seq ?? 0) + 1 : asked;
    const start = { ok: null, count: 0, head: null, brokenAt: null, reason: null, log: undefined, durationMs: 0 };
    this.result = { ...start, url, from, to: from - 1, remembered };
    this.#known = known;
    this.#follow = follow;
    this.#state = state;
    this.#output = output;
  }

  /** Whether receipts after the remembered one are skipped. Then that one stays remembered: it may be in another chain. */
  get #leavesGap(): boolean {
    const { remembered, from } = this.result;
    return remembered !== undefined && remembered.seq < from - 1;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { url, from, remembered } = this.result;
    if (remembered !== undefined && this.#leavesGap) {
      const gap = `receipts ${remembered.seq + 1} to ${from - 1} are not verified`;
      this.#output.note(`${gap}, so receipt ${remembered.seq} stays the remembered one`);
    }
    const head = await readHead(url, signal);
    if (head.seq === 0 && remembered === undefined) {
      throw new StoaError("unusable", "the chain is empty, and a Stoa seals its first receipt before it serves");
    }
    this.#log = await LogCheck.open(url, this.#known, signal);
    const receipts = verifyReceipts({
      url,
      from,
      follow: this.#follow,
      signal,
      head,
      known: remembered,
      onStart: (link) => this.#start(link, head),
      onInterruption: (reason, waitMs) =>
        this.#output.note(`${reason}; connecting again in ${(waitMs / 1000).toFixed(1)} s`),
    });
    for await (const receipt of receipts) await this.#take(receipt, head);
    if (!this.#live) await this.#log?.checkNewest();
    this.result.log = this.#log?.summary;
    this.result.ok = true;
  }

  #start(link: Link, head: Head): void {
    this.#last = link;
    if (link.seq > 0) this.result.head = link.hash;
    if (this.#follow && link.seq >= head.seq) this.#catchUp();
  }

  async #take(receipt: VerifiedReceipt, head: Head): Promise<void> {
    const { link } = receipt;
    const { result } = this;
    const { remembered } = result;
    const isAfter = remembered !== undefined && link.seq > remembered.seq;
    const isRemembered = remembered?.log !== undefined;
    await this.#log?.take(receipt, !isRemembered || isAfter, isRemembered && isAfter);
    this.#last = link;
    result.count++;
    result.to = link.seq;
    result.head = link.hash;
    if (this.#live) {
      this.remember();
      reportReceipt(this.#output, receipt);
    } else {
      this.#output.progress(result.count, head.seq - result.from + 1);
      if (this.#follow && link.seq >= head.seq) {
        await this.#log?.checkNewest();
        this.#catchUp();
      }
    }
  }

  #catchUp(): void {
    this.#live = true;
    this.result.log = this.#log?.summary;
    this.remember();
    if (!this.#output.isJson) reportResult(this.#output, { ...this.result, ok: true });
  }

  /** Remembers the last good receipt. @throws StateError */
  remember(): void {
    if (this.#last !== undefined && !this.#leavesGap) this.#state.save(this.#last, this.#log?.memory);
  }

  /**
   * Records in the result what ended the verification.
   * @returns the exit status
   * @throws errors that are no such result
   */
  fail(error: unknown, signal: AbortSignal): number {
    const { result } = this;
    if (error instanceof DoesNotVerify) {
      const { seq, fault, message } = error;
      Object.assign(result, { ok: false, to: seq, brokenAt: seq, reason: `${fault}: ${message}` });
      return exitStatus.found;
    }
    if (error instanceof BeyondHead) throw new UsageError(`--from ${result.from}: ${error.message}`);
    const finding = findingOf(error);
    if (signal.aborted && this.#live && finding === undefined) {
      result.log = this.#log?.summary;
      result.ok = true;
      return exitStatus.done;
    }
    const { ok, reason, status } = outcomeOf(error, signal, "the head was not reached");
    Object.assign(result, { ok, reason, brokenAt: finding?.seq ?? null });
    return status;
  }
}
