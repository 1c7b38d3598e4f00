import type { Head } from "../../receipt/recovery.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { findReceipt, lockHead, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import { Ticker } from "../../timing/ticker.ts";
import { sleep, withTimeout } from "../../timing/wait.ts";
import type { LedgerLog } from "../log.ts";
import { sha256 } from "../sha256.ts";
import { compareHeads, type MissingHead } from "./compare-heads.ts";
import type { HeadFolder, ServedHead } from "./head-folder.ts";
import { HeadStore } from "./head-store.ts";
import { describeMissingHeads } from "./missing-heads.ts";

export interface GuardOptions {
  db: Database;
  folder: HeadFolder;
  log: GuardLog;
  /** How often the chain is checked while nobody reads it, in milliseconds. */
  lookMs?: number | undefined;
  /** How long the reply to a seal waits for the file, in milliseconds. A disk that hangs must not stop sealing. */
  storeMs?: number | undefined;
}

interface GuardLog extends LedgerLog {
  warn(fields: object, message: string): void;
}

const defaultLookMs = 5_000;
/** The least time between checks that readers cause, in milliseconds. */
const minLookIntervalMs = 200;
/** The delays before the checks of a chain that ends too early, in milliseconds: a node of a cluster may only be late. */
const confirmDelaysMs = [0, 100, 300, 600];
const defaultStoreMs = 1_000;

/** The chain that was about to grow does not have a head that was served. */
export class ServedHeadMissing extends Error {
  override readonly name = "ServedHeadMissing";
}

/**
 * Remembers, outside the database, the newest receipt that this replica served, and refuses to seal on a chain that
 * does not have it. Without this, a database that was restored from a backup would fork the ledger unnoticed. Reading
 * continues.
 */
export class HeadGuard {
  readonly #db: Database;
  readonly #log: GuardLog;
  readonly #lookMs: number;
  readonly #storeMs: number;
  readonly #store: HeadStore;
  /** The heads that the chain must have: the newest one that was served, or after a start those of the files. */
  #required: readonly ServedHead[] = [];
  /** Which required heads are missing, for the operator; undefined if none is. */
  #problem: string | undefined;
  readonly #stopping = new AbortController();
  #looking: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Starts the next check that readers caused, when it is due. */
  #lookTimer: NodeJS.Timeout | undefined;
  #ticker: Ticker | undefined;

  constructor({ db, folder, log, lookMs = defaultLookMs, storeMs = defaultStoreMs }: GuardOptions) {
    this.#db = db;
    this.#log = log;
    this.#lookMs = lookMs;
    this.#storeMs = storeMs;
    this.#store = new HeadStore(folder, log);
  }

  /**
   * Reads the files, checks the chain against them, and begins to watch it. The ledger already has its first receipt.
   */
  async begin(signal: AbortSignal): Promise<void> {
    await this.#load(signal);
    await this.#look(signal);
    const tick = (signal: AbortSignal) => (this.#looking ??= this.#lookOnce(signal));
    this.#ticker = new Ticker(this.#lookMs, tick, (err) => this.#log.warn({ err }, "the head could not be checked"));
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the service is stopping"));
    clearTimeout(this.#lookTimer);
    await this.#ticker?.stop();
    await this.#looking;
    await this.#store.settled();
  }

  /** What an operator should know; undefined if all is well. */
  get warning(): string | undefined {
    return [this.#problem, this.#store.damage, this.#store.fault].filter(Boolean).join(" ") || undefined;
  }

  /** The newest receipt that is in the file and, as far as is known, in the chain. */
  get storedHead(): Head | undefined {
    return this.#problem === undefined && this.#store.damage === undefined ? this.#store.storedHead : undefined;
  }

  /** The `SealCheck` of this guard: why nothing may be sealed. */
  readonly check = async (signal: AbortSignal): Promise<string | undefined> => {
    if (this.#problem !== undefined) await this.#confirm(signal, [0]);
    return this.#problem ?? this.#store.damage;
  };

  /**
   * Decides whether a receipt may follow `head`, which the transaction has locked.
   * @returns the hashes of the recoveries in the chain
   * @throws ServedHeadMissing if it may not; Error if the database is empty and had a ledger before, which ends the start
   */
  async checkHead(tx: Tx, head: Head): Promise<readonly string[]> {
    if (head.seq === 0 && this.#required.length === 0) await this.#store.refuseEmpty();
    const [only] = this.#required;
    if (only !== undefined && this.#required.length === 1 && isSame(only, head)) return only.recoveries;
    const { missing, recoveries } = await compareHeads(tx, head, this.#required);
    if (missing.length > 0) throw new ServedHeadMissing(describeMissingHeads(missing, head));
    return recoveries;
  }

  /** Stores a receipt that this process sealed and committed. Resolves when it is in the file, or after `storeMs`. */
  async storeSealed(head: ServedHead): Promise<void> {
    if (!this.#advance(head)) return;
    await withTimeout(this.#store.flush(), this.#storeMs);
  }

  /**
   * Reads the head of the chain and stores it: this process has committed a receipt, but does not know which of its attempts
   * did. Resolves when the head is in the file, or after `storeMs`. If it fails, the next check stores the head.
   */
  async storeSettled(signal: AbortSignal): Promise<void> {
    await withTimeout(
      this.confirm(signal).catch(() => {}),
      this.#storeMs,
    );
  }

  /** Must be called with every head that is read. A new head is checked in the background. */
  observeHead(head: Head): void {
    const [only] = this.#required;
    if (only === undefined || !isSame(only, head)) this.#lookSoon();
  }

  /** Must be called with the seq of every receipt that is served. */
  observeServed(seq: number): void {
    const [only] = this.#required;
    if (only === undefined || seq > only.seq) this.#lookSoon();
  }

  #lookSoon(): void {
    // While there is a problem, only the ticker checks again.
    if (this.#ticker === undefined || this.#looking !== undefined || this.#problem !== undefined) return;
    const waitMs = this.#lookedAt + minLookIntervalMs - performance.now();
    if (waitMs > 0) {
      this.#lookTimer ??= setTimeout(() => {
        this.#lookTimer = undefined;
        this.#lookSoon();
      }, waitMs).unref();
      return;
    }
    this.#looking = this.#lookOnce(this.#stopping.signal).catch((err) => {
      if (!this.#stopping.signal.aborted) this.#log.warn({ err }, "the head could not be checked");
    });
  }

  /**
   * Finds out, on the writing server, whether a head is really missing. A chain that ends too early gets some time.
   * @returns why nothing may be sealed; undefined if the chain now has every required head
   */
  async confirm(signal: AbortSignal): Promise<string | undefined> {
    await this.#confirm(signal, confirmDelaysMs);
    return this.#problem;
  }

  async #confirm(signal: AbortSignal, delaysMs: readonly number[]): Promise<void> {
    for (const [index, ms] of delaysMs.entries()) {
      if (ms > 0) await sleep(ms, signal);
      const { head, missing, recoveries } = await this.#db.priority.transaction(signal, async (tx) => {
        const head = await lockHead(tx);
        return { head, ...(await compareHeads(tx, head, this.#required)) };
      });
      if (missing.length === 0) return this.#accept(this.#db.priority.reader(signal), head, recoveries);
      const isLast = index === delaysMs.length - 1;
      if (isLast || missing.every(({ kind }) => kind === "replaced")) return this.#reject(missing, head);
    }
  }

  #lookOnce(signal: AbortSignal): Promise<void> {
    return this.#look(signal).finally(() => {
      this.#looking = undefined;
      this.#lookedAt = performance.now();
    });
  }

  async #look(signal: AbortSignal): Promise<void> {
    if (this.#store.damage !== undefined) await this.#load(signal);
    const db = this.#db.priority.reader(signal);
    const head = await readHead(db);
    const [only] = this.#required;
    if (this.#problem === undefined && this.#required.length === 1 && isSame(only as ServedHead, head)) {
      // The head may still have to be written, if the disk was full before.
      return this.#store.flush();
    }
    const { missing, recoveries } = await compareHeads(db, head, this.#required);
    if (missing.length === 0) return this.#accept(db, head, recoveries);
    await this.#confirm(signal, this.#problem === undefined ? confirmDelaysMs : [0]).catch((error) => {
      if (signal.aborted) throw error;
      // The writing server does not answer. What the reader shows is reason enough to block sealing.
      this.#reject(missing, head);
    });
  }

  async #load(signal: AbortSignal): Promise<void> {
    const first = await findReceipt(this.#db.reader(signal), 1);
    const stored = await this.#store.load(first === undefined ? [] : [first.hash, sha256(first.canonical)]);
    // The heads that this process already knows stay.
    const added = stored.filter((each) => !this.#required.some((known) => isSame(known, each)));
    this.#required = [...this.#required, ...added];
  }

  /** The chain has every required head. From now on its own head is the required one. */
  async #accept(db: Queryable, head: Head, recoveries: readonly string[]): Promise<void> {
    if (this.#problem !== undefined) this.#log.info({ seq: head.seq }, "the chain has every receipt that was served");
    this.#problem = undefined;
    if (head.seq === 0 || !isIntact(await findReceipt(db, head.seq), head)) return;
    this.#advance({ seq: head.seq, hash: head.hash, recoveries });
    await this.#store.flush();
  }

  #reject(missing: readonly MissingHead[], head: Head): void {
    const text = describeMissingHeads(missing, head);
    if (text !== this.#problem) this.#log.error({ head: head.seq }, text);
    this.#problem = text;
  }

  /** Makes a head of the chain the required one, unless a newer one is already known. @returns whether it did */
  #advance(head: ServedHead): boolean {
    if (this.#required.some((each) => !isSuperseded(each, head))) return false;
    this.#required = [head];
    this.#store.set(head);
    return true;
  }
}

/** Whether a head of the chain replaces a known head, which the chain has or a recovery explains. */
function isSuperseded(known: ServedHead, head: ServedHead): boolean {
  return head.seq >= known.seq || head.recoveries.some((hash) => !known.recoveries.includes(hash));
}

function isSame(one: Head, other: Head): boolean {
  return one.seq === other.seq && one.hash === other.hash;
}

/** Only intact receipts are remembered. A damaged row would otherwise block sealing after its own repair. */
function isIntact(row: ReceiptRow | undefined, { hash }: Head): boolean {
  return row !== undefined && row.hash === hash && sha256(row.canonical) === hash;
}
