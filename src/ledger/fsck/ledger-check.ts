import { isHash, type ReceiptDocument } from "../../receipt/document.ts";
import { contradiction, rivalOf } from "../../receipt/recovery.ts";
import { chainStart, type Finding as Fault, type Link, verifyEnd, verifyNext } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { compare, type Finding, leftOut, type Outcome } from "../../store/recount/finding.ts";
import {
  type EpochRow,
  type HeadRow,
  listEpochs,
  listHeads,
  putEpoch,
  putHeadTime,
} from "../../store/recount/ledger.ts";
import { findReceipt, listReceipts, lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import { cityDay, dateOf, dayMs, startOf } from "../calendar.ts";
import { sha256 } from "../sha256.ts";
import { firstBatchSize, isInChain, nextBatchSize } from "../verification/verification.ts";
import { findWrongApprovals } from "./clock-approval-check.ts";
import { findUnfounded, findUnnoted, noteChecks } from "./note-check.ts";

/** A finding, and what sets it right. */
export interface Repairable {
  finding: Finding;
  mend?: ((tx: Tx) => Promise<void>) | undefined;
}

/** The tables that are compared with the receipts. */
const tablesBeside = ["ledger_head", "ledger_epoch", ...noteChecks.map(({ name }) => name), "ledger_clock_words"];

/** How many findings may wait for the end of the chain; further ones are told by the next run. */
const maxWaiting = 10_000;

/**
 * Checks every receipt and, against the receipts, the head, the calendar and what is noted as sealed. It may run beside
 * services that seal. Receipts are never changed, and nothing else here is while the chain does not verify. What the
 * schema keeps from being checked is a finding, too.
 * @param db a reader whose statements may take long
 * @param repair the database in which to set right what follows from receipts; undefined changes nothing
 * @throws StoaError `unavailable`; the reason of `signal`
 */
export async function* checkLedger(
  db: Queryable,
  signal: AbortSignal,
  repair?: Database,
): AsyncGenerator<Outcome, void> {
  const check = new LedgerCheck(db);
  for await (const { finding, mend } of check.run()) {
    const isMended = repair !== undefined && mend !== undefined && check.isIntact;
    if (isMended) {
      await repair.transaction(signal, async (tx) => {
        await lockHead(tx);
        await mend(tx);
      });
    }
    yield { finding, repaired: isMended };
  }
}

class LedgerCheck {
  readonly #db: Queryable;
  /** What can be set right waits here until all of the chain is known to verify. */
  readonly #waiting: Repairable[] = [];
  /** What the schema keeps from being checked, by table. */
  readonly #leftOut = new Map<string, Finding>();
  /** The last receipt that was looked at. */
  #link: Link = chainStart;
  /** The date that is city_day 1 by the first receipt. */
  #epoch: string | undefined;
  /** Whether the receipts and the head that were looked at verify. */
  isIntact = true;

  constructor(db: Queryable) {
    this.#db = db;
  }

  async *run(): AsyncGenerator<Repairable, void> {
    try {
      yield* this.#checkChain();
    } catch (error) {
      // All the rest follows from the receipts.
      for (const subject of ["receipts", ...tablesBeside]) yield { finding: leftOut(subject, error) };
      return;
    }
    yield* this.#waiting;
    const told = new Set(this.#waiting.map(({ finding }) => JSON.stringify(finding.key)));
    for (const check of noteChecks) {
      for await (const found of this.#goThrough(check.name, findUnfounded(this.#db, check))) {
        if (!told.has(JSON.stringify(found.finding.key))) yield found;
      }
    }
    yield* this.#goThrough("ledger_clock_words", findWrongApprovals(this.#db));
    for (const finding of this.#leftOut.values()) yield { finding };
  }

  async *#checkChain(): AsyncGenerator<Repairable, void> {
    for (let limit = firstBatchSize; ; ) {
      const rows = await listReceipts(this.#db, this.#link.seq + 1, limit);
      const documents: ReceiptDocument[] = [];
      for (const row of rows) {
        const { faults, document } = await this.#verify(row);
        for (const fault of faults)
          yield this.#break("receipts", { seq: fault.seq }, `${fault.fault}: ${fault.message}`);
        if (document !== undefined) documents.push(document);
      }
      for (const document of documents) yield* await this.#checkCalendar(document);
      for (const check of noteChecks) {
        this.#await((await this.#attempt(check.name, () => findUnnoted(this.#db, check, documents))) ?? []);
      }
      if (rows.length > 0) {
        limit = nextBatchSize(rows);
        continue;
      }
      const heads = await this.#attempt("ledger_head", () => listHeads(this.#db));
      // Without a head nothing can be locked, and nothing repaired.
      if (heads === undefined) this.isIntact = false;
      const findings = heads === undefined ? [] : await this.#checkHead(heads);
      if (findings === undefined) continue;
      yield* findings;
      return;
    }
  }

  /** Looks at a table; undefined where the schema lacks something that this needs, which is then noted. */
  async #attempt<Result>(table: string, look: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#leftOut.has(table)) return undefined;
    try {
      return await look();
    } catch (error) {
      this.#leftOut.set(table, leftOut(table, error));
      return undefined;
    }
  }

  /** The same for a walk through a table. */
  async *#goThrough(table: string, walk: AsyncGenerator<Repairable, void>): AsyncGenerator<Repairable, void> {
    for (;;) {
      const step = await this.#attempt(table, () => walk.next());
      if (step === undefined || step.done) return;
      yield step.value;
    }
  }

  /** Verifies the next receipt. Behind a bad one it goes on from what is recorded of it. */
  async #verify(row: ReceiptRow): Promise<{ faults: Fault[]; document?: ReceiptDocument }> {
    const { seq, hash, prev_hash, canonical } = row;
    const computedHash = sha256(canonical);
    const claim = { bytes: canonical, computedHash, seq, hash, prevHash: prev_hash };
    const faults: Fault[] = [];
    let verdict = verifyNext(this.#link, claim);
    if (!verdict.ok && seq > this.#link.seq + 1 && isHash(prev_hash)) {
      faults.push(verdict.finding);
      verdict = verifyNext({ seq: seq - 1, hash: prev_hash }, claim);
    }
    if (!verdict.ok) {
      this.#link = { seq, hash: isHash(hash) ? hash : computedHash };
      return { faults: [...faults, verdict.finding] };
    }
    const rival = rivalOf(verdict.document);
    if (rival !== undefined && (await isInChain(this.#db, rival))) faults.push(contradiction(seq, rival));
    this.#link = verdict.link;
    return { faults, document: verdict.document };
  }

  /** Receipt 1 has settled the calendar: its time is of the first day, and its city day says when day 1 was. */
  async #checkCalendar({ seq, ts, city_day }: ReceiptDocument): Promise<Repairable[]> {
    const date = ts.slice(0, 10);
    if (seq > 1) {
      const counted = this.#epoch === undefined ? city_day : cityDay(Date.parse(ts), this.#epoch);
      return compare("receipts.city_day", { seq }, city_day, counted).map((finding) => ({ finding }));
    }
    const right = { epoch: dateOf(startOf(date) - (city_day - 1) * dayMs), first_day: date };
    this.#epoch = right.epoch;
    const epochs = await this.#attempt("ledger_epoch", () => listEpochs(this.#db));
    return epochs === undefined ? [] : this.#compareEpochs(epochs, right);
  }

  #compareEpochs([stored, ...more]: EpochRow[], right: Omit<EpochRow, "id">): Repairable[] {
    const key = { id: stored?.id ?? 1 };
    const findings =
      stored === undefined
        ? [{ subject: "ledger_epoch", key, problem: "the row is missing" }]
        : [
            ...compare("ledger_epoch.epoch", key, stored.epoch, right.epoch),
            ...compare("ledger_epoch.first_day", key, stored.first_day, right.first_day),
          ];
    this.#await(findings.map((finding) => ({ finding, mend: (tx) => putEpoch(tx, right) })));
    return more.map(({ id }) => ({
      finding: { subject: "ledger_epoch", key: { id }, problem: "there is more than one row" },
    }));
  }

  /**
   * Compares the head with the last receipt; undefined when something was sealed since that was read. The head is read after
   * the receipts, and moves with them: it can be ahead of what was read, and is never behind it.
   */
  async #checkHead([head, ...more]: HeadRow[]): Promise<Repairable[] | undefined> {
    if (head === undefined) return [this.#break("ledger_head", { id: 1 }, "the row is missing")];
    const fault = verifyEnd(this.#link, head);
    const isAhead = fault?.fault === "truncated" && (await findReceipt(this.#db, this.#link.seq + 1)) !== undefined;
    if (isAhead) return undefined;
    const key = { id: head.id };
    if (fault === undefined && this.#link.ts !== undefined) {
      const { seq } = head;
      const ts = Date.parse(this.#link.ts);
      const findings = compare("ledger_head.ts", key, head.ts, ts);
      this.#await(findings.map((finding) => ({ finding, mend: (tx) => putHeadTime(tx, seq, ts) })));
    }
    return [
      ...(fault === undefined ? [] : [this.#break("ledger_head", key, `${fault.fault}: ${fault.message}`)]),
      ...more.map(({ id }) => this.#break("ledger_head", { id }, "there is more than one row")),
    ];
  }

  #break(subject: string, key: Finding["key"], problem: string): Repairable {
    this.isIntact = false;
    return { finding: { subject, key, problem } };
  }

  #await(found: readonly Repairable[]): void {
    this.#waiting.push(...found.slice(0, maxWaiting - this.#waiting.length));
  }
}
