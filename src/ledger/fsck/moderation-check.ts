import { createHash } from "node:crypto";
import { canonicalize } from "../../receipt/canonical.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { compare, type Finding, leftOut, type Outcome } from "../../store/recount/finding.ts";
import { listDailies, readModerationHead } from "../../store/recount/moderations.ts";
import { listModerationsAfter } from "../../store/tables/moderations.ts";
import { toAct } from "../sealing/moderations.ts";

/** How many acts, and how many receipts, are read at once. A receipt has up to some 70 KiB. */
const maxActs = 1_000;
const maxDailies = 100;

/**
 * Checks the record of moderation: ids without gaps, the head, and the evidence of each daily receipt against the acts.
 * Services may add acts and seal during the check. Nothing is repaired: the record is append-only.
 * @param db a reader whose statements may take long
 * @throws StoaError `unavailable`
 */
export async function* checkModerations(db: Queryable): AsyncGenerator<Outcome, void> {
  try {
    for await (const finding of findWrong(db)) yield { finding, repaired: false };
  } catch (error) {
    yield { finding: leftOut("moderations", error), repaired: false };
  }
}

async function* findWrong(db: Queryable): AsyncGenerator<Finding, void> {
  const before = await readModerationHead(db);
  if (before === undefined) {
    yield { subject: "moderation_head", key: {}, problem: "the row is missing" };
    return;
  }
  yield* compare("moderation_head.newest", { id: 1 }, before.newest, before.highest);
  const covered = yield* checkDailies(db);
  const after = (await readModerationHead(db)) ?? before;
  // Receipts that were sealed during the check may or may not have been read.
  const sealed = Math.min(Math.max(covered, before.sealed), after.sealed);
  if (covered !== sealed) yield* compare("moderation_head.sealed", { id: 1 }, sealed, covered);
  // No receipt covers these acts yet, so only gaps among them are findings.
  yield* hashActs(db, covered, Math.max(before.newest, before.highest));
}

/** @returns up to which act the daily receipts cover the record */
async function* checkDailies(db: Queryable): AsyncGenerator<Finding, number> {
  let covered = 0;
  let seq = 0;
  for (;;) {
    const dailies = await listDailies(db, seq, maxDailies);
    for (const daily of dailies) {
      seq = daily.seq;
      const evidence = evidenceOf(daily.canonical);
      // Versions before moderation sealed without it.
      if (evidence === undefined) continue;
      const { count, hash } = evidence;
      const found = yield* hashActs(db, covered, covered + count);
      if (found !== hash) {
        const problem = `the acts ${covered + 1} to ${covered + count} differ from what the receipt has sealed`;
        yield { subject: "moderations", key: { receipt: daily.seq }, problem };
      }
      covered += count;
    }
    if (dailies.length < maxDailies) return covered;
  }
}

function evidenceOf(canonical: Buffer): { count: number; hash: string } | undefined {
  try {
    const { count, hash } = JSON.parse(canonical.toString("utf8")).evidence.moderations;
    return Number.isSafeInteger(count) && count >= 0 && typeof hash === "string" ? { count, hash } : undefined;
  } catch {
    // A damaged receipt is a finding of the check of the chain.
    return undefined;
  }
}

/** The hash of the acts after `from` up to `through`, as a daily receipt has it. Yields the gaps. */
async function* hashActs(db: Queryable, from: number, through: number): AsyncGenerator<Finding, string> {
  const hash = createHash("sha256").update("[");
  let after = from;
  let separator = "";
  while (after < through) {
    const rows = await listModerationsAfter(db, after, through, maxActs);
    for (const row of rows) {
      yield* gap(after, row.id);
      hash.update(`${separator}${canonicalize(toAct(row))}`);
      separator = ",";
      after = row.id;
    }
    if (rows.length === 0) {
      yield* gap(after, through + 1);
      break;
    }
  }
  return hash.update("]").digest("hex");
}

function* gap(after: number, next: number): Generator<Finding, void> {
  if (next > after + 1) yield { subject: "moderations", key: { id: after + 1 }, problem: "the act is missing" };
}
