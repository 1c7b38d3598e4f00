import type { Head } from "../../receipt/recovery.ts";
import { chainStart } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import { findReceipt, lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import { insertRecovery } from "../../store/tables/recoveries.ts";
import { readCalendar } from "../../store/tables/seals.ts";
import { append, verificationPath } from "../sealing/append.ts";
import { checkPlain } from "../sealing/evidence.ts";
import type { SealChecks } from "../sealing/seal-checks.ts";
import { sha256 } from "../sha256.ts";
import { verifyFrom } from "../verification/verification.ts";
import { compareHeads, contains, type MissingHead } from "./compare-heads.ts";
import type { HeadFolder, ServedHead } from "./head-folder.ts";
import { HeadStore } from "./head-store.ts";
import { newestMissing } from "./missing-heads.ts";

export interface RecoveryOptions {
  db: Database;
  folder: HeadFolder;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  /** Other checks that may block sealing. */
  sealChecks?: SealChecks | undefined;
  /** Called when files cannot be read or written. */
  warn(text: string): void;
}

/** The ledger in the database, compared with the head files. */
export interface Inspection {
  head: Head;
  /** The newest head in the files, and whether the chain has it; undefined if there is none. */
  remembered: (Head & { isInChain: boolean }) | undefined;
  /** The served heads that the chain does not have, and whose absence no recovery explains. */
  missing: MissingHead[];
  /** Which files cannot be read; undefined if all can. */
  damage: string | undefined;
}

/** An operator's statement about a chain that has lost receipts. */
interface RecoveryInput {
  /** The newest receipt that was served and is lost. */
  abandoned: Head;
  note: string;
}

/**
 * Compares the ledger with the heads that this replica remembers, and seals an operator's statement about lost
 * receipts.
 */
export class LedgerRecovery {
  readonly #options: RecoveryOptions;
  readonly #store: HeadStore;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#store = new HeadStore(options.folder, { warn: (_, text) => options.warn(text) });
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
      return { head, remembered: found, missing, damage: this.#store.damage };
    });
  }

  /**
   * Seals a recovery, and remembers it as the newest head.
   * @throws Error with one line when the statement does not match the loss, or when sealing is blocked
   */
  async seal(signal: AbortSignal, { abandoned, note }: RecoveryInput): Promise<ReceiptRow> {
    const { db, now, sealChecks } = this.#options;
    if (note.trim() === "" || note.length > maxNoteLength)
      throw new Error(`the note must have 1 to ${maxNoteLength} characters`);
    checkPlain(note, "note");
    const remembered = await this.#load(signal);
    const blockReason = await sealChecks?.blockReason(signal);
    const before = await verifyFrom(db.longReader(signal), chainStart);
    const { row, appended } = await db.transaction(signal, async (tx) => {
      const head = await lockHead(tx);
      const calendar = await readCalendar(tx);
      if (calendar === undefined) throw new Error("the row of ledger_epoch is missing; restore it from a backup");
      const comparison = await compareHeads(tx, head, remembered);
      checkFits(abandoned, comparison.missing);
      if (await contains(tx, head, abandoned)) {
        throw new Error(`receipt ${abandoned.seq} is part of the ledger as it is: nothing is abandoned`);
      }
      const sealing: Parameters<typeof append>[0] = {
        tx,
        now: now(),
        epoch: calendar.epoch,
        blockReason,
        guard: { checkHead: async () => comparison.recoveries },
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
    // If another head is still missing, its files stay, so that the operator can decide about it too.
    if (appended !== undefined) {
      this.#store.set(appended);
      await this.#store.flush();
    }
    return row;
  }

  async #load(signal: AbortSignal): Promise<ServedHead[]> {
    const first = await findReceipt(this.#options.db.reader(signal), 1);
    if (first === undefined) throw new Error("the database has no ledger; restore a backup, or start the service");
    return this.#store.load([first.hash, sha256(first.canonical)]);
  }
}

/** The most characters of a note. */
const maxNoteLength = 1_000;

/**
 * Guards against a wrong argument: if this replica misses receipts, the abandoned one must be the newest of them.
 * @throws Error with one line
 */
function checkFits(abandoned: Head, missing: readonly MissingHead[]): void {
  if (missing.length === 0) return;
  const { head } = newestMissing(missing);
  if (head.seq === abandoned.seq && head.hash === abandoned.hash) return;
  throw new Error(`the newest receipt that was served and is lost is ${head.seq}:${head.hash}; name that one`);
}
