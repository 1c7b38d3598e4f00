import { isHash, type ReceiptDocument } from "../../receipt/document.ts";
import { contradiction, rivalOf } from "../../receipt/recovery.ts";
import { chainStart, type Finding as Fault, type Link, verifyEnd, verifyNext } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { compare, type Finding, leftOut, type Outcome } from "../../store/recount/finding.ts";
import { findCalendar, findHead, putEpoch, putHeadTime } from "../../store/recount/ledger.ts";
import { findReceipt, type Head, listReceipts, lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import type { Calendar } from "../../store/tables/seals.ts";
import { findVerification } from "../../store/tables/verifications.ts";
import { cityDay, dateOf, dayMs, startOf } from "../calendar.ts";
import { sha256 } from "../sha256.ts";
import { firstPageRows, isInChain, nextPageRows } from "../verification/verification.ts";
import { findWrongApprovals } from "./clock-approval-check.ts";
import { findMissingRows, findWrongRows, indexChecks } from "./index-check.ts";
import type { Repairable } from "./repairable.ts";
import { findWrongVerification } from "./verification-check.ts";

/** The tables that are compared with the receipts. */
const tablesBeside = [
  "ledger_head",
  "ledger_epoch",
  ...indexChecks.map(({ name }) => name),
  "ledger_clock_words",
  "ledger_verification",
];

/** How many findings may wait for the end of the chain. The next run reports any others. */
const maxWaiting = 10_000;

/**
 * Checks every receipt, and compares the head, the calendar and the index tables with the receipts. Services may seal
 * meanwhile. Receipts are never changed. If the chain does not verify, nothing is repaired. A check that is impossible
 * because the schema lacks something is a finding, too.
 * @param db a reader whose statements may take long
 * @param repairIn the database in which to repair what follows from receipts; without it nothing is changed
 * @throws StoaError `unavailable`; the reason of `signal`
 */
export async function* checkLedger(
  db: Queryable,
  signal: AbortSignal,
  repairIn?: Database,
): AsyncGenerator<Outcome, void> {
  const check = new LedgerCheck(db);
  for await (const { finding, repair } of check.run()) {
    const isRepaired = repairIn !== undefined && repair !== undefined && check.isIntact;
    if (isRepaired) {
      await repairIn.transaction(signal, async (tx) => {
        await lockHead(tx);
        await repair(tx);
      });
    }
    yield { finding, repaired: isRepaired };
  }
}

class LedgerCheck {
  readonly #db: Queryable;
  /** Findings with a repair wait here until the whole chain is known to verify. */
  readonly #waiting: Repairable[] = [];
  /** The checks that the schema makes impossible, by table. */
  readonly #leftOut = new Map<string, Finding>();
  /** The last receipt that was checked. */
  #link: Link = chainStart;
  /** The date that is city_day 1, by the first receipt. */
  #epoch: string | undefined;
  /** Whether all receipts so far verify, and the head. */
  isIntact = true;

  constructor(db: Queryable) {
    this.#db = db;
  }

  async *run(): AsyncGenerator<Repairable, void> {
    const verification = await this.#attempt("ledger_verification", () => findVerification(this.#db));
    try {
      yield* this.#checkChain();
    } catch (error) {
      // Without receipts there is nothing to compare the other tables with.
      for (const subject of ["receipts", ...tablesBeside]) yield { finding: leftOut(subject, error) };
      return;
    }
    yield* this.#waiting;
    const reported = new Set(this.#waiting.map(({ finding }) => JSON.stringify(finding.key)));
    for (const check of indexChecks) {
      for await (const found of this.#walk(check.name, findWrongRows(this.#db, check))) {
        if (!reported.has(JSON.stringify(found.finding.key))) yield found;
      }
    }
    yield* this.#walk("ledger_clock_words", findWrongApprovals(this.#db));
    const check = () => findWrongVerification(this.#db, verification, this.isIntact);
    yield* (await this.#attempt("ledger_verification", check)) ?? [];
    for (const finding of this.#leftOut.values()) yield { finding };
  }

  async *#checkChain(): AsyncGenerator<Repairable, void> {
    for (let limit = firstPageRows; ; ) {
      const rows = await listReceipts(this.#db, this.#link.seq + 1, limit);
      limit = nextPageRows(rows);
      const documents: ReceiptDocument[] = [];
      for (const row of rows) {
        const { faults, document } = await this.#verify(row);
        for (const fault of faults)
          yield this.#break("receipts", { seq: fault.seq }, `${fault.fault}: ${fault.message}`);
        if (document !== undefined) documents.push(document);
      }
      for (const document of documents) yield* await this.#checkCalendar(document);
      for (const check of indexChecks) {
        this.#defer((await this.#attempt(check.name, () => findMissingRows(this.#db, check, documents))) ?? []);
      }
      // A seq beyond 2^53 is damage. The receipts after it cannot be read: a Number cannot hold seq + 1.
      if (rows.length > 0 && Number.isSafeInteger(this.#link.seq)) continue;
      // Without a head, nothing can be locked or repaired.
      const head = await this.#attempt("ledger_head", async () => ({ row: await findHead(this.#db) }));
      if (head === undefined) this.isIntact = false;
      const findings = head === undefined ? [] : await this.#checkHead(head.row);
      if (findings === undefined) continue;
      yield* findings;
      return;
    }
  }

  /** Reads a table. If the schema lacks something for that, records it and returns undefined. */
  async #attempt<Result>(table: string, read: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#leftOut.has(table)) return undefined;
    try {
      return await read();
    } catch (error) {
      this.#leftOut.set(table, leftOut(table, error));
      return undefined;
    }
  }

  /** Like `#attempt`, for a walk through a table. */
  async *#walk(table: string, walk: AsyncGenerator<Repairable, void>): AsyncGenerator<Repairable, void> {
    for (;;) {
      const step = await this.#attempt(table, () => walk.next());
      if (step === undefined || step.done) return;
      yield step.value;
    }
  }

  /** Verifies the next receipt. After a bad one, it continues from the recorded hash. */
  async #verify(row: ReceiptRow): Promise<{ faults: Fault[]; document?: ReceiptDocument }> {
    const { seq, hash, prev_hash, canonical } = row;
    const computedHash = sha256(canonical);
    const receipt = { bytes: canonical, computedHash, seq, hash, prevHash: prev_hash };
    const faults: Fault[] = [];
    let verdict = verifyNext(this.#link, receipt);
    if (!verdict.ok && seq > this.#link.seq + 1 && isHash(prev_hash)) {
      faults.push(verdict.finding);
      verdict = verifyNext({ seq: seq - 1, hash: prev_hash }, receipt);
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

  /** Receipt 1 determines the calendar: its time is on the first day, and its city day says which date is day 1. */
  async #checkCalendar({ seq, ts, city_day }: ReceiptDocument): Promise<Repairable[]> {
    const date = ts.slice(0, 10);
    if (seq > 1) {
      const counted = this.#epoch === undefined ? city_day : cityDay(Date.parse(ts), this.#epoch);
      return compare("receipts.city_day", { seq }, city_day, counted).map((finding) => ({ finding }));
    }
    const right = { epoch: dateOf(startOf(date) - (city_day - 1) * dayMs), first_day: date };
    this.#epoch = right.epoch;
    const calendar = await this.#attempt("ledger_epoch", async () => ({ row: await findCalendar(this.#db) }));
    if (calendar !== undefined) this.#compareCalendars(calendar.row, right);
    return [];
  }

  #compareCalendars(stored: Calendar | undefined, right: Calendar): void {
    const key = { id: 1 };
    const findings =
      stored === undefined
        ? [{ subject: "ledger_epoch", key, problem: "the row is missing" }]
        : [
            ...compare("ledger_epoch.epoch", key, stored.epoch, right.epoch),
            ...compare("ledger_epoch.first_day", key, stored.first_day, right.first_day),
          ];
    this.#defer(findings.map((finding) => ({ finding, repair: (tx) => putEpoch(tx, right) })));
  }

  /**
   * Compares the head with the last receipt. The head was read after the receipts, so it may be ahead of them, but not
   * behind.
   * @returns undefined if a receipt was sealed since the receipts were read
   */
  async #checkHead(head: Head | undefined): Promise<Repairable[] | undefined> {
    const key = { id: 1 };
    if (head === undefined) return [this.#break("ledger_head", key, "the row is missing")];
    const fault = verifyEnd(this.#link, head);
    const isAhead = fault?.fault === "truncated" && (await findReceipt(this.#db, this.#link.seq + 1)) !== undefined;
    if (isAhead) return undefined;
    if (fault === undefined && this.#link.ts !== undefined) {
      const { seq } = head;
      const ts = Date.parse(this.#link.ts);
      const findings = compare("ledger_head.ts", key, head.ts, ts);
      this.#defer(findings.map((finding) => ({ finding, repair: (tx) => putHeadTime(tx, seq, ts) })));
    }
    return fault === undefined ? [] : [this.#break("ledger_head", key, `${fault.fault}: ${fault.message}`)];
  }

  #break(subject: string, key: Finding["key"], problem: string): Repairable {
    this.isIntact = false;
    return { finding: { subject, key, problem } };
  }

  #defer(found: readonly Repairable[]): void {
    this.#waiting.push(...found.slice(0, maxWaiting - this.#waiting.length));
  }
}
