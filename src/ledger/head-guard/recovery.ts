import type { Head } from "../../receipt/recovery.ts";
import { chainStart } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import { findReceipt, lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import { insertRecovery } from "../../store/tables/recoveries.ts";
import { readCalendar } from "../../store/tables/seals.ts";
import { append, sha256, verificationPath } from "../sealing/append.ts";
import { checkPlain } from "../sealing/evidence.ts";
import type { SealChecks } from "../sealing/seal-checks.ts";
import { verifyInParallel } from "../verification/parallel-verification.ts";
import { compareHeads, contains, type MissingHead } from "./compare-heads.ts";
import type { HeadFolder, ServedHead } from "./head-folder.ts";
import { HeadStore } from "./head-store.ts";
import { newestMissing } from "./missing-heads.ts";

export interface RecoveryOptions {
  db: Database;
  folder: HeadFolder;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  /** What else may forbid to seal. */
  holds?: SealChecks | undefined;
  /** Told what went wrong with the files. */
  warn(text: string): void;
}

/** What the database has and what the head files say. */
export interface Inspection {
  head: Head;
  /** The newest head of the files, and whether the chain has it; undefined when there is none. */
  remembered: (Head & { isInChain: boolean }) | undefined;
  /** The heads that the chain does not have, and that no recovery explains. */
  missing: MissingHead[];
  /** Files that cannot be understood. */
  damage: string | undefined;
}

/** What an operator says about a chain that has lost receipts. */
export interface RecoveryInput {
  /** The newest receipt that was served and is lost. */
  abandoned: Head;
  note: string;
}

/** Compares the ledger with what this replica remembers, and seals what an operator says about the difference. */
export class LedgerRecovery {
  readonly #options: RecoveryOptions;
  readonly #keeper: HeadStore;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#keeper = new HeadStore(options.folder, { warn: (_, text) => options.warn(text) });
  }

  /** @throws Error when the database has no ledger */
  async inspect(signal: AbortSignal): Promise<Inspection> {
    const { db } = this.#options;
    const remembered = await this.#load(signal);
    return db.transaction(signal, async (tx) => {
      const head = await lockHead(tx);
      const { missing } = await compareHeads(tx, head, remembered);
      const [newest] = remembered.toSorted((a, b) => b.seq - a.seq);
      const found = newest && { seq: newest.seq, hash: newest.hash, isInChain: await contains(tx, head, newest) };
      return { head, remembered: found, missing, damage: this.#keeper.damage };
    });
  }

  /**
   * Seals a recovery, and remembers it as the newest head.
   * @throws Error with one line when the statement does not fit, or something else forbids to seal
   */
  async seal(signal: AbortSignal, { abandoned, note }: RecoveryInput): Promise<ReceiptRow> {
    const { db, now, holds } = this.#options;
    if (note.trim() === "" || note.length > maxNote) throw new Error(`the note must have 1 to ${maxNote} characters`);
    checkPlain(note, "note");
    const remembered = await this.#load(signal);
    const hold = await holds?.reason(signal);
    const before = await verifyInParallel(db.longReader(signal), chainStart, { signal, onFailure: () => {} });
    const { row, appended } = await db.transaction(signal, async (tx) => {
      const head = await lockHead(tx);
      const calendar = await readCalendar(tx);
      if (calendar === undefined) throw new Error("the row of ledger_epoch is gone; restore it from a backup");
      const judgement = await compareHeads(tx, head, remembered);
      checkFits(abandoned, judgement.missing);
      if (await contains(tx, head, abandoned)) {
        throw new Error(`receipt ${abandoned.seq} is part of the ledger as it is: nothing is abandoned`);
      }
      const sealing: Parameters<typeof append>[0] = {
        tx,
        now: now(),
        epoch: calendar.epoch,
        hold,
        guard: { admit: async () => judgement.recoveries },
      };
      const row = await append(sealing, head, {
        book: null,
        actor: { agent: "operator", seat: "recover" },
        evidence: {
          note: "Sealed by an operator's command, because receipts that were served are not in the database any more.",
          source: verificationPath,
          verify_ok: before.finding === undefined,
        },
        body: ({ count, head }) => ({
          type: "recovery",
          count,
          head,
          abandoned_seq: abandoned.seq,
          abandoned_hash: abandoned.hash,
          note,
        }),
      });
      await insertRecovery(tx, row.seq);
      const { missing } = await compareHeads(tx, row, remembered);
      return { row, appended: missing.length === 0 ? sealing.appended : undefined };
    });
    // What is still not explained keeps its files, for the operator to decide about as well.
    if (appended !== undefined) {
      this.#keeper.take(appended);
      await this.#keeper.keep();
    }
    return row;
  }

  async #load(signal: AbortSignal): Promise<ServedHead[]> {
    const first = await findReceipt(this.#options.db.reader(signal), 1);
    if (first === undefined) throw new Error("the database has no ledger; restore a backup, or start the service");
    return this.#keeper.load([first.hash, sha256(first.canonical)]);
  }
}

/** The most characters of a note. */
const maxNote = 1_000;

/** Where this replica misses a receipt, that one is what is abandoned: nobody abandons another one by mistake. */
function checkFits(abandoned: Head, missing: readonly MissingHead[]): void {
  if (missing.length === 0) return;
  const { kept } = newestMissing(missing);
  if (kept.seq === abandoned.seq && kept.hash === abandoned.hash) return;
  throw new Error(`the newest receipt that was served and is lost is ${kept.seq}:${kept.hash}; name that one`);
}
