import type { Head } from "../../receipt/recovery.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { findReceipt, lockHead, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import { Ticker } from "../../timing/ticker.ts";
import { sleep, withTimeout } from "../../timing/wait.ts";
import { sha256 } from "../sealing/append.ts";
import { compareHeads, type MissingHead } from "./compare-heads.ts";
import type { HeadFolder, ServedHead } from "./head-folder.ts";
import { HeadStore } from "./head-store.ts";
import { describeMissingHeads } from "./missing-heads.ts";

export interface GuardOptions {
  db: Database;
  folder: HeadFolder;
  log: GuardLog;
  /** How often the chain is looked at while nobody reads it, in milliseconds. */
  lookMs?: number | undefined;
}

export interface GuardLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const defaultLookMs = 5_000;
/** The least time between looks that readers cause, in milliseconds. */
const minLookIntervalMs = 200;
/**
 * How long to wait before each further look at a chain that ends too early, in milliseconds: a node of a cluster may only
 * be late.
 */
const confirmDelaysMs = [0, 100, 300, 600];
/** How long the reply to a seal waits for the file, in milliseconds: a disk that hangs does not stop sealing. */
const maxKeepMs = 1_000;

/** A head that was served is not in the chain that was about to be continued. */
export class ServedHeadMissing extends Error {
  override readonly name = "ServedHeadMissing";
}

/**
 * Remembers the newest receipt that this replica served, outside the database, and refuses to seal on a chain that does not
 * have it: a database that was restored from a backup would otherwise fork the ledger without a word. Reading goes on.
 */
export class HeadGuard {
  readonly #db: Database;
  readonly #log: GuardLog;
  readonly #lookMs: number;
  readonly #keeper: HeadStore;
  /** The heads that the chain must have: the newest one served, or at first those of the files. */
  #bound: readonly ServedHead[] = [];
  #objection: string | undefined;
  readonly #stopping = new AbortController();
  #looking: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** A look that comes as soon as it may. */
  #later: NodeJS.Timeout | undefined;
  #ticker: Ticker | undefined;

  constructor({ db, folder, log, lookMs = defaultLookMs }: GuardOptions) {
    this.#db = db;
    this.#log = log;
    this.#lookMs = lookMs;
    this.#keeper = new HeadStore(folder, log);
  }

  /** Reads the files, compares the chain with them and begins to watch it. The ledger has its first receipt. */
  async begin(signal: AbortSignal): Promise<void> {
    await this.#load(signal);
    await this.#look(signal);
    const tick = (signal: AbortSignal) => (this.#looking ??= this.#lookOnce(signal));
    this.#ticker = new Ticker(this.#lookMs, tick, (err) => this.#log.warn({ err }, "the head could not be looked at"));
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the service is stopping"));
    clearTimeout(this.#later);
    await this.#ticker?.stop();
    await this.#looking;
    await this.#keeper.settled();
  }

  /** What an operator should know; undefined when all is well. */
  get warning(): string | undefined {
    const texts = [this.#objection, this.#keeper.damage, this.#keeper.fault].filter((text) => text !== undefined);
    return texts.length === 0 ? undefined : texts.join(" ");
  }

  /** The newest receipt that is in the file and in the chain, as far as is known. */
  get held(): Head | undefined {
    return this.#objection === undefined && this.#keeper.damage === undefined ? this.#keeper.held : undefined;
  }

  /** Why nothing may be sealed; to be added to the `SealChecks`. */
  readonly check = async (signal: AbortSignal): Promise<string | undefined> => {
    if (this.#objection !== undefined) await this.#confirm(signal, [0]);
    return this.#objection ?? this.#keeper.damage;
  };

  /**
   * Decides whether a receipt may follow `head`, which the transaction has locked.
   * @returns the hashes of the recoveries that the chain has
   * @throws ServedHeadMissing when it may not; Error when the database is empty and was not, which is for a start to end with
   */
  async admit(tx: Tx, head: Head): Promise<readonly string[]> {
    if (head.seq === 0 && this.#bound.length === 0) await this.#keeper.refuseEmpty();
    const [only] = this.#bound;
    if (only !== undefined && this.#bound.length === 1 && isSame(only, head)) return only.recoveries;
    const { missing, recoveries } = await compareHeads(tx, head, this.#bound);
    if (missing.length > 0) throw new ServedHeadMissing(describeMissingHeads(missing, head));
    return recoveries;
  }

  /** Keeps a receipt that was sealed here and is committed; resolves when it is in the file, or that takes too long. */
  async sealed(head: ServedHead): Promise<void> {
    if (!this.#advance(head)) return;
    await withTimeout(this.#keeper.keep(), maxKeepMs);
  }

  /** To be told of every head that is read. What is new is looked at in the background. */
  saw(head: Head): void {
    const [only] = this.#bound;
    if (only === undefined || !isSame(only, head)) this.#lookSoon();
  }

  /** To be told of a receipt that is served, by its seq. */
  served(seq: number): void {
    const [only] = this.#bound;
    if (only === undefined || seq > only.seq) this.#lookSoon();
  }

  #lookSoon(): void {
    // While the chain is not as it should be, the ticker looks again.
    if (this.#ticker === undefined || this.#looking !== undefined || this.#objection !== undefined) return;
    const tooSoonMs = this.#lookedAt + minLookIntervalMs - performance.now();
    if (tooSoonMs > 0) {
      this.#later ??= setTimeout(() => {
        this.#later = undefined;
        this.#lookSoon();
      }, tooSoonMs).unref();
      return;
    }
    this.#looking = this.#lookOnce(this.#stopping.signal).catch((err) => {
      if (!this.#stopping.signal.aborted) this.#log.warn({ err }, "the head could not be looked at");
    });
  }

  /**
   * Finds out on the writer whether a head is really missing. A chain that ends too early gets some time.
   * @returns why nothing may be sealed; undefined when the chain has everything now
   */
  async confirm(signal: AbortSignal): Promise<string | undefined> {
    await this.#confirm(signal, confirmDelaysMs);
    return this.#objection;
  }

  async #confirm(signal: AbortSignal, delaysMs: readonly number[]): Promise<void> {
    for (const [index, ms] of delaysMs.entries()) {
      if (ms > 0) await sleep(ms, signal);
      const { head, missing, recoveries } = await this.#db.priority.transaction(signal, async (tx) => {
        const head = await lockHead(tx);
        return { head, ...(await compareHeads(tx, head, this.#bound)) };
      });
      if (missing.length === 0) return this.#accept(this.#db.priority.reader(signal), head, recoveries);
      const isLast = index === delaysMs.length - 1;
      if (isLast || missing.every(({ kind }) => kind === "beside")) return this.#object(missing, head);
    }
  }

  #lookOnce(signal: AbortSignal): Promise<void> {
    return this.#look(signal).finally(() => {
      this.#looking = undefined;
      this.#lookedAt = performance.now();
    });
  }

  async #look(signal: AbortSignal): Promise<void> {
    if (this.#keeper.damage !== undefined) await this.#load(signal);
    const db = this.#db.priority.reader(signal);
    const head = await readHead(db);
    const [only] = this.#bound;
    if (this.#objection === undefined && this.#bound.length === 1 && isSame(only as ServedHead, head)) {
      // It may still have to be written, after the disk was full.
      return this.#keeper.keep();
    }
    const { missing, recoveries } = await compareHeads(db, head, this.#bound);
    if (missing.length === 0) return this.#accept(db, head, recoveries);
    await this.#confirm(signal, this.#objection === undefined ? confirmDelaysMs : [0]).catch((error) => {
      if (signal.aborted) throw error;
      // What the reader shows is enough to be careful where the writer does not answer.
      this.#object(missing, head);
    });
  }

  async #load(signal: AbortSignal): Promise<void> {
    const first = await findReceipt(this.#db.reader(signal), 1);
    const kept = await this.#keeper.load(first === undefined ? [] : [first.hash, sha256(first.canonical)]);
    // What this process knows of its own stays.
    this.#bound = [...this.#bound, ...kept.filter((each) => !this.#bound.some((known) => isSame(known, each)))];
  }

  /** The chain has everything that it must have: its head is what it must have from now on. */
  async #accept(db: Queryable, head: Head, recoveries: readonly string[]): Promise<void> {
    if (this.#objection !== undefined) this.#log.info({ seq: head.seq }, "the chain has every receipt that was served");
    this.#objection = undefined;
    if (head.seq === 0 || !isIntact(await findReceipt(db, head.seq), head)) return;
    this.#advance({ seq: head.seq, hash: head.hash, recoveries });
    await this.#keeper.keep();
  }

  #object(missing: readonly MissingHead[], head: Head): void {
    const text = describeMissingHeads(missing, head);
    if (text !== this.#objection) this.#log.error({ head: head.seq }, text);
    this.#objection = text;
  }

  /** Moves on to a head of the chain, unless something newer of it is known already. @returns whether it did */
  #advance(head: ServedHead): boolean {
    if (this.#bound.some((each) => !isSuperseded(each, head))) return false;
    this.#bound = [head];
    this.#keeper.take(head);
    return true;
  }
}

/** Whether a head of the chain says all that an earlier known one says, which the chain has or a recovery explains. */
function isSuperseded(known: ServedHead, head: ServedHead): boolean {
  return head.seq >= known.seq || head.recoveries.some((hash) => !known.recoveries.includes(hash));
}

function isSame(one: Head, other: Head): boolean {
  return one.seq === other.seq && one.hash === other.hash;
}

/** Only what is sound is remembered: a damaged row would otherwise stand against its own repair. */
function isIntact(row: ReceiptRow | undefined, { hash }: Head): boolean {
  return row !== undefined && row.hash === hash && sha256(row.canonical) === hash;
}
