import type { VerifiedReceipt } from "../../client/receipts.ts";
import type { Output } from "../output.ts";
import type { Remembered } from "../state.ts";

/** The result of a verification, so far or at the end. */
export interface Result {
  /** Null while nothing is known of the chain. */
  ok: boolean | null;
  url: string;
  from: number;
  /** The last receipt that was checked; `from - 1` if none was. */
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
interface LogSummary {
  origin: string;
  vkey: string;
  size: number;
  /** The signed note. */
  checkpoint: string;
}

/** The types of receipts that are printed by name. */
const knownTypes: ReadonlySet<string> = new Set(["genesis", "session", "daily", "recovery"]);

/** Reports a receipt that was sealed while the command followed the chain. */
export function reportReceipt(output: Output, { link, document }: VerifiedReceipt): void {
  const { seq, hash } = link;
  const { prev_hash, kind, ts, book, body } = document;
  const { type } = body as { type: string };
  const known = knownTypes.has(type) ? type : "other";
  output.print({ seq, hash, prev_hash, kind, ts, book, type }, `receipt ${seq}: ${ts} ${known} ${hash}`);
}

/** Reports the result at the end. */
export function reportResult(output: Output, result: Result): void {
  const { ok, url, from, to, count, head, brokenAt, reason, remembered, log, durationMs } = result;
  const object = {
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
  };
  const lines = [describe(result)];
  if (ok && log !== undefined) {
    lines.push(`verified the log ${log.origin}: ${log.size} entries, signed by ${log.vkey}`);
  }
  output.end(object, ...lines);
}

function describe({ ok, url, from, to, count, head, brokenAt, reason, remembered }: Result): string {
  if (ok === null) {
    const good = count > 0 ? `; receipts ${from} to ${to} were good so far` : "";
    return `${url} could not be verified: ${reason}${good}`;
  }
  if (!ok) {
    const [code, words] = reason?.split(/: (.*)/s) ?? [];
    if (code === "history_changed") return `history has changed since ${remembered?.time}: ${words}`;
    return `${brokenAt === null ? "the log" : `receipt ${brokenAt}`} does not verify: ${reason}`;
  }
  if (count === 0) return `there is no receipt after ${to} of ${url} yet: head ${head}`;
  return `verified receipts ${from} to ${to} of ${url}: head ${head}`;
}
