import type { Database } from "../store/database/database.ts";
import { readLogHead } from "../store/tables/log-head.ts";
import { type LogIdentity, readLogIdentity } from "../store/tables/log-identity.ts";
import { Ticker } from "../timing/ticker.ts";
import { formatVkey, type NoteKey, parseVkey } from "../tlog/notes/key.ts";
import type { SignerKey } from "../tlog/notes/signer-key.ts";
import { begin, findWrongSetting, writesFrom } from "./beginning.ts";
import { sha256, signerOf } from "./crypto.ts";
import { LogFolder } from "./folder/log-folder.ts";
import { Import } from "./import.ts";
import { OutboxWatch } from "./outbox-watch.ts";
import { Publisher, type PublisherLog } from "./publisher/publisher.ts";
import { ItemProofs } from "./reading/item-proofs.ts";
import { PublishedTiles } from "./reading/published-tiles.ts";
import { Sequencer } from "./sequencer/sequencer.ts";

export interface BoardLogOptions {
  db: Database;
  /** The log folder of this replica. */
  path: string;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: PublisherLog;
  /** STOA_LOG_ORIGIN, if it is set. */
  origin: string | undefined;
  /** The key that this replica has. */
  key: SignerKey | undefined;
  /** Makes the key of a new log if this replica has no key. Without either, no log begins here. */
  makeKey?: (() => Promise<SignerKey>) | undefined;
  /** Whether a log may begin. */
  mayBegin: boolean;
  /** Whether other replicas may use the database. */
  hasReplicas: boolean;
  /**
   * Called when there is a log: at the start, or when one has begun later.
   * @param from from when on writes add entries, in milliseconds since 1970 (UTC)
   */
  onLog(from: number): void;
  /** How often it looks for a log, and for notes of other replicas, in milliseconds. */
  lookMs?: { identity?: number | undefined; notes?: number | undefined } | undefined;
}

/** A log that there is. */
export interface OpenLog {
  readonly identity: LogIdentity;
  readonly key: NoteKey;
  readonly publisher: Publisher;
  /** The published tree, as tiles. */
  readonly tiles: PublishedTiles;
  readonly proofs: ItemProofs;
  /** Whether this replica signs, and so adds to the log. */
  readonly signs: boolean;
}

const defaultIdentityLookMs = 10_000;
/** How often the oldest entry of the outbox is looked for, in milliseconds. */
const outboxLookMs = 1_000;
/** How often the sequencer looks for entries, in milliseconds. */
const sequenceMs = 200;
/** How long the import waits for writes that began before the log, or on a replica with a slow clock, in milliseconds. */
const settleMs = 30_000;
/** How long a stop may take for the entries of the last requests, in milliseconds. */
const restMs = 1_000;
/** The operator is warned of entries that have waited for longer than this, in seconds. */
const maxOutboxAge = 60;
/** How many contradictions are kept, for the warning to name. */
const maxContradictions = 5;

/** The log of this board, or the wait for one. */
export class BoardLog {
  #options: BoardLogOptions;
  readonly #outbox = new OutboxWatch();
  /** The items whose text contradicts their newest commitment, as proofs have found: `post 12`. */
  readonly #contradictions = new Set<string>();
  readonly #tickers: Ticker[] = [];
  readonly #stopping = new AbortController();
  #open: OpenLog | undefined;
  #sequencer: Sequencer | undefined;
  /** Why no log begins although one may; undefined otherwise. */
  #whyNone: string | undefined;

  /**
   * Opens the log of the database. Where there is none, this begins it, if this replica has a key and may.
   * @throws Error with one line if key or origin are not those of the log
   */
  static async open(options: BoardLogOptions, signal: AbortSignal): Promise<BoardLog> {
    const { db, origin, key } = options;
    const log = new BoardLog(options);
    const identity = (await readLogIdentity(db.reader(signal))) ?? (await log.#begin(signal));
    if (identity !== undefined) {
      // `key` is what this replica had before. A key that `#begin` has just made is that of the log.
      const wrong = findWrongSetting(identity, origin, key);
      if (wrong !== undefined) throw new Error(wrong);
      await log.#start(identity, signal, false);
    }
    log.#watch();
    return log;
  }

  private constructor(options: BoardLogOptions) {
    this.#options = options;
  }

  /** The log; undefined while there is none. */
  get current(): OpenLog | undefined {
    return this.#open;
  }

  /** For how long the oldest entry of the outbox has waited, in seconds; 0 if there is none. */
  get outboxAge(): number {
    return this.#outbox.seconds;
  }

  /** What an operator should know; undefined if all is well. */
  get warning(): string | undefined {
    const waits =
      this.outboxAge > maxOutboxAge &&
      `Entries have waited for over a minute to be added to the log. A replica with the log's key adds them.`;
    const contradictions =
      this.#contradictions.size > 0 &&
      `Texts contradict what the log has committed to (${[...this.#contradictions].join(", ")}): restore or remove them.`;
    const texts = [this.#whyNone, this.#open?.publisher.warning, waits, contradictions].filter(Boolean);
    return texts.length === 0 ? undefined : texts.join(" ");
  }

  /** Notes whether the text of an item agrees with its newest commitment. @param item such as `post 12` */
  #noteCheck(item: string, agrees: boolean): void {
    if (agrees) this.#contradictions.delete(item);
    else if (this.#contradictions.size < maxContradictions) this.#contradictions.add(item);
  }

  /** Stops it. The entries of the last requests are sequenced first, if that takes no longer than a second. */
  async stop(): Promise<void> {
    await Promise.all(this.#tickers.map((ticker) => ticker.stop()));
    await this.#sequenceRest();
    await this.#open?.publisher.stop();
    this.#stopping.abort(new Error("the service is stopping"));
  }

  async #sequenceRest(): Promise<void> {
    if (!this.#sequencer?.goesOn) return;
    await this.#sequencer.run(AbortSignal.timeout(restMs)).catch((err) => {
      this.#options.log.warn({ err }, "entries wait for the next start or another replica");
    });
  }

  async #begin(signal: AbortSignal): Promise<LogIdentity | undefined> {
    const { db, now, origin, key, makeKey, mayBegin, hasReplicas, path } = this.#options;
    if (!mayBegin || (key === undefined && makeKey === undefined)) return undefined;
    // A log that has begun under the wrong name keeps it for good.
    if (key !== undefined && origin !== undefined && origin !== key.name) {
      throw new Error(
        `STOA_LOG_ORIGIN is ${origin}, but the key file of the log is of ${key.name}: change one of them.`,
      );
    }
    // A second log by the same key would contradict the one that was published.
    const isOfLog = await LogFolder.isOfLog(path);
    if (isOfLog || (await readLogHead(db.priority.reader(signal))).restored !== 0) {
      const known = isOfLog ? `The log folder ${path} is of a log` : "A log may have been published";
      this.#whyNone =
        `${known}, and the database has none, as after a restore of a backup from before. Stop all replicas and run:` +
        " npm run stoa -- recover --log";
      return undefined;
    }
    // While nothing may be written, the board serves on without a log.
    if (db.refusal !== undefined) return undefined;
    const given = key ?? (await makeKey?.());
    if (given === undefined) return undefined;
    this.#options = { ...this.#options, key: given };
    return begin(given, { db, now, hasReplicas, signal });
  }

  /** @param serves whether this replica serves already. Then its writes may have begun without the log, however old that is */
  async #start(identity: LogIdentity, signal: AbortSignal, serves: boolean): Promise<void> {
    const { db, path, now, log, origin, key: own, hasReplicas, lookMs, onLog } = this.#options;
    const from = writesFrom(identity, now());
    const settledAt = Math.max(from, serves ? now() : 0) + (serves || hasReplicas ? settleMs : 0);
    onLog(from);
    const key = await parseVkey(identity.vkey, sha256);
    const signs = own !== undefined && formatVkey(own) === identity.vkey;
    // A start has compared them already; this log may be one that another replica has begun since.
    const wrong = findWrongSetting(identity, origin, own);
    if (wrong !== undefined) log.error({}, wrong);
    const signer = signs ? signerOf(own) : undefined;
    const publisher = new Publisher({ db, path, key, signer, log, lookMs: lookMs?.notes });
    try {
      await publisher.begin(signal);
      // A new log is published before the start is over.
      if (signs && publisher.tree === undefined) await publisher.publish(signal);
      // A stop that came meanwhile would not know what begins below.
      signal.throwIfAborted();
    } catch (error) {
      // The next try must find the folder unlocked.
      await publisher.stop();
      throw error;
    }
    const { published } = publisher;
    const tiles = new PublishedTiles(db, published, this.#stopping.signal);
    const noteCheck = (item: string, agrees: boolean) => this.#noteCheck(item, agrees);
    const proofs = new ItemProofs({ db, published, tiles, outbox: this.#outbox, noteCheck });
    this.#whyNone = undefined;
    this.#open = { identity, key, publisher, tiles, proofs, signs };
    if (signs) this.#sequence(publisher, identity, settledAt);
  }

  /** @param settledAt from when on every write adds its own entry, in milliseconds since 1970 (UTC) */
  #sequence(publisher: Publisher, { beginsAt }: LogIdentity, settledAt: number): void {
    const { db, log, now } = this.#options;
    const sequencer = new Sequencer({ db, publisher, outbox: this.#outbox, beginsAt });
    const rows = new Import({ db, outbox: this.#outbox, now, settledAt });
    const run = async (signal: AbortSignal) => {
      await sequencer.run(signal);
      await rows.run(signal, sequencer.goesOn);
    };
    const onFailure = (err: unknown) => log.warn({ err }, "the log could not be continued");
    this.#tickers.push(new Ticker(sequenceMs, run, onFailure));
    this.#sequencer = sequencer;
  }

  #watch(): void {
    const { db, log, lookMs } = this.#options;
    const look = async (signal: AbortSignal) => {
      if (this.#open !== undefined) return;
      const identity = (await readLogIdentity(db.priority.reader(signal))) ?? (await this.#begin(signal));
      if (identity !== undefined) await this.#start(identity, signal, true);
    };
    const lookAtOutbox = async (signal: AbortSignal) => {
      if (this.#open !== undefined) await this.#outbox.look(db.priority.reader(signal));
    };
    const onFailure = (err: unknown) => log.warn({ err }, "the log could not be read");
    this.#tickers.push(new Ticker(lookMs?.identity ?? defaultIdentityLookMs, look, onFailure));
    this.#tickers.push(new Ticker(outboxLookMs, lookAtOutbox, onFailure));
  }
}
