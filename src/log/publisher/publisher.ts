import { StoredDamage } from "../../errors.ts";
import type { Database } from "../../store/database/database.ts";
import { type LogHead, putLogNote, readLogHead } from "../../store/tables/log-head.ts";
import { Ticker } from "../../timing/ticker.ts";
import { sleep } from "../../timing/wait.ts";
import { equalBytes, fromUtf8, toUtf8 } from "../../tlog/encoding.ts";
import { TlogError } from "../../tlog/error.ts";
import { formatCheckpoint, openCheckpoint } from "../../tlog/notes/checkpoint.ts";
import type { NoteKey } from "../../tlog/notes/key.ts";
import { type NoteSigner, signNote } from "../../tlog/notes/note.ts";
import type { CompactRange } from "../../tlog/tree/compact-range.ts";
import { verifyEd25519 } from "../crypto.ts";
import { LogFolder } from "../folder/log-folder.ts";
import { FolderDamage, type SignedTree } from "../folder/segments.ts";
import { type CommittedBatch, Contradiction, checkExtends, extendTo } from "./extend.ts";
import { PublishedTree } from "./published-tree.ts";

export interface PublisherOptions {
  db: Database;
  /** The log folder of this replica. */
  path: string;
  /** The log's key. */
  key: NoteKey;
  /** Signs by that key; undefined: this replica publishes only what others sign. */
  signer?: NoteSigner | undefined;
  log: PublisherLog;
  /** How often it looks for notes of other replicas, in milliseconds. */
  lookMs?: number | undefined;
}

export interface PublisherLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const defaultLookMs = 200;
/** How many missing entries a start waits for, if this replica has a note of its own. */
const maxCopiedAtStart = 8_192;
/** How soon a folder that could not be opened is tried again, in milliseconds. */
const reopenMs = 5_000;
/** The delays before a database is said to lack entries, in milliseconds: a node of a cluster may only be late. */
const confirmDelaysMs = [100, 300, 600];

const notOpen = "The log folder is not open yet.";

/**
 * Publishes the trees of the log: those that it signs, and those of other replicas. A note is stored and served only when
 * the entries of its tree are in the database and on the disk of this replica. A replica whose folder contradicts the
 * database is frozen: it signs nothing, and serves its last note. There is one in each process.
 */
export class Publisher {
  /** What requests see, and wait for. */
  readonly published = new PublishedTree();
  readonly #options: PublisherOptions;
  #ticker: Ticker | undefined;
  #folder: LogFolder | undefined;
  #reopenAt = 0;
  #obstacle: string | undefined = notOpen;
  /** Why the newest tree could not be published, in a sentence; undefined if the disk has not failed since the last one. */
  #fault: string | undefined;
  /** Each run waits for the one before. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /**
   * Looks once, and begins to follow the notes of other replicas. A replica that has missed many entries serves its own note
   * until it has copied them, or while the database or the disk fails.
   * @throws StoaError `unavailable` when the database fails, and Error of the file system when the disk does, while there is no
   *   note of its own
   */
  async begin(signal: AbortSignal): Promise<void> {
    const { lookMs = defaultLookMs, log } = this.#options;
    const look = (signal: AbortSignal) => this.#run(signal, (head) => this.#follow(signal, head));
    const onFailure = (err: unknown) => log.warn({ err }, "the log could not be published");
    await this.#run(signal, async (head) => {
      const { size } = this.published;
      if (size === 0 || head.signed <= size + maxCopiedAtStart) await this.#follow(signal, head);
    }).catch((error) => {
      if (signal.aborted || this.tree === undefined) throw error;
      onFailure(error);
    });
    this.#ticker = new Ticker(lookMs, look, onFailure);
  }

  async stop(): Promise<void> {
    await this.#ticker?.stop();
    await this.#last.catch(() => {});
    this.#folder?.close();
    this.#folder = undefined;
  }

  /**
   * Why the log must not grow now, in a sentence for the operator; undefined while it may. The sequencer asks before each
   * batch: the outbox waits meanwhile, and the board writes on.
   */
  get obstacle(): string | undefined {
    return this.#obstacle;
  }

  /** What an operator should know; undefined if all is well. */
  get warning(): string | undefined {
    return this.#isFrozen ? `The log is frozen, and nothing is added to it. ${this.#obstacle}` : this.#fault;
  }

  get #isFrozen(): boolean {
    return this.#obstacle !== undefined && this.#obstacle !== notOpen;
  }

  /**
   * The newest tree that is published here; undefined before the first. The sequencer appends to this tree and to no other,
   * by the condition of its compare-and-set: a database that was rolled back, or lost a commit when it failed over, is not
   * extended beside what was published. If log_head has another tree, call `publish`.
   */
  get tree(): SignedTree | undefined {
    return this.published.tree;
  }

  /** The entries of the log folder, as a range of the caller's own; undefined while there is no folder. */
  get range(): CompactRange | undefined {
    return this.#folder?.tree && this.#folder.extend().range;
  }

  /**
   * Publishes the tree of log_head: stores its entries in the folder, signs the root and stores the note. The sequencer
   * calls it after each batch, and begins no other batch before it has succeeded. It is also called for a tree that has
   * no note yet. Calls run one after the other.
   * @param batch the entries from the newest note on, if this process has just committed them. Without it, as when a COMMIT
   *   got no answer, they are read from the database
   * @throws StoaError `unavailable` when the database fails; Error of the file system when the disk does. The tree then waits
   *   for its note: call it again later. It does not throw when it meets an obstacle: ask for `obstacle`
   */
  publish(signal: AbortSignal, batch?: CommittedBatch): Promise<void> {
    return this.#run(signal, async (head) => {
      await this.#follow(signal, head);
      const { signer } = this.#options;
      if (signer !== undefined) await this.#sign(signal, head, signer, batch);
    });
  }

  /** Runs one piece of work after the other. Work is left out while the folder cannot be opened. */
  #run(signal: AbortSignal, work: (head: LogHead) => Promise<void>): Promise<void> {
    const run = this.#last.catch(() => {}).then(() => this.#attempt(signal, work));
    this.#last = run;
    return run;
  }

  async #attempt(signal: AbortSignal, work: (head: LogHead) => Promise<void>): Promise<void> {
    signal.throwIfAborted();
    try {
      if (!(await this.#open())) return;
      const head = await readLogHead(this.#options.db.priority.reader(signal));
      if (head.restored !== 0) {
        throw new Contradiction("The database was restored from a backup. Run: npm run stoa -- recover --log");
      }
      await work(head);
      this.#thaw();
    } catch (error) {
      if (error instanceof FolderDamage) this.#giveUpFolder(error);
      else if (error instanceof Contradiction || error instanceof StoredDamage) this.#freeze(error.message);
      else {
        const { syscall, message } = error as NodeJS.ErrnoException;
        if (syscall !== undefined) {
          this.#fault = `The log folder cannot be written, so nothing new is published here: ${message}.`;
        }
        throw error;
      }
    }
  }

  /** @returns whether the folder is open. @throws FolderDamage */
  async #open(): Promise<boolean> {
    if (this.#folder !== undefined) return true;
    if (performance.now() < this.#reopenAt) return false;
    this.#reopenAt = performance.now() + reopenMs;
    const { path, key } = this.#options;
    try {
      this.#folder = await LogFolder.open(path, key);
    } catch (error) {
      if (error instanceof FolderDamage) throw error;
      this.#freeze(`The log folder ${path} cannot be used: ${(error as Error).message}`);
      return false;
    }
    this.published.set(this.#folder.tree);
    return true;
  }

  /** Publishes the note of the database if it is newer than the folder's, or stores the folder's there if that is newer. */
  async #follow(signal: AbortSignal, head: LogHead): Promise<void> {
    const folder = this.#folder as LogFolder;
    const own = folder.tree;
    const note = head.note === null ? undefined : toUtf8(head.note);
    if (note === undefined && own === undefined) return;
    if (note !== undefined && own !== undefined && equalBytes(note, own.note)) return;
    const theirs = note && (await this.#read(note));
    if (theirs !== undefined && theirs.size > (own?.size ?? 0)) {
      await this.#adopt(signal, theirs);
    } else if (own !== undefined && own.size > (theirs?.size ?? 0)) {
      const current = await this.#headOfAtLeast(own.size, head, signal);
      await checkExtends(this.#options.db.longReader(signal), folder, current);
      await this.#put(signal, own);
    } else if (own !== undefined && theirs !== undefined && !equalBytes(own.root, theirs.root)) {
      throw new Contradiction(`The database has another tree of ${own.size} entries than this replica has published`);
    }
  }

  /** Signs the tree of the database, if it has no note yet. */
  async #sign(signal: AbortSignal, head: LogHead, signer: NoteSigner, batch?: CommittedBatch): Promise<void> {
    const own = this.#folder?.tree;
    const { size, root } = await this.#headOfAtLeast(own?.size ?? 0, head, signal);
    if (size === (own?.size ?? 0)) {
      if (own === undefined || equalBytes(root, own.root)) return;
      throw new Contradiction(`The database has another tree of ${size} entries than this replica has published`);
    }
    const text = formatCheckpoint({ origin: this.#options.key.name, size, root });
    // The entries of a tree are on the disk before it is signed.
    const tree = await this.#adopt(signal, { size, root }, () => signNote(text, [signer]), batch);
    await this.#put(signal, tree);
  }

  async #adopt(
    signal: AbortSignal,
    tree: { size: number; root: Uint8Array; note?: Uint8Array },
    sign?: () => Promise<Uint8Array>,
    batch?: CommittedBatch,
  ): Promise<SignedTree> {
    const folder = this.#folder as LogFolder;
    const extension = await extendTo(this.#options.db.longReader(signal), folder, tree, batch);
    const note = sign === undefined ? (tree.note as Uint8Array) : await sign();
    const signed = { size: tree.size, root: tree.root, note };
    await folder.adopt(extension, signed);
    this.#fault = undefined;
    this.published.set(signed);
    return signed;
  }

  /** Stores a note of this replica for the others. */
  async #put(signal: AbortSignal, { size, note }: SignedTree): Promise<void> {
    await this.#options.db.priority.transaction(signal, (tx) => putLogNote(tx, size, fromUtf8(note) as string));
  }

  /** @throws Contradiction if the note is not one of this log */
  async #read(note: Uint8Array): Promise<SignedTree> {
    try {
      const { checkpoint } = await openCheckpoint(note, [this.#options.key], verifyEd25519);
      return { size: checkpoint.size, root: checkpoint.root, note };
    } catch (error) {
      if (!(error instanceof TlogError)) throw error;
      throw new Contradiction(`The note in the database is not one of this log: ${error.message}`);
    }
  }

  /** @returns the head, once it has `size` entries. @throws Contradiction if it still has fewer after a second */
  async #headOfAtLeast(size: number, head: LogHead, signal: AbortSignal): Promise<LogHead> {
    let newest = head;
    for (const ms of confirmDelaysMs) {
      if (newest.size >= size) return newest;
      await sleep(ms, signal);
      newest = await this.#options.db.priority.transaction(signal, readLogHead);
    }
    if (newest.size >= size) return newest;
    throw new Contradiction(
      `This replica has published a tree of ${size} entries, and the database has ${newest.size}, as after a restore of a` +
        " backup. An operator must decide: npm run stoa -- recover --log",
    );
  }

  #giveUpFolder(error: FolderDamage): void {
    this.#folder?.close();
    this.#folder = undefined;
    this.published.set(error.tree);
    this.#freeze(`The log folder is damaged: ${error.message}. An operator must decide: npm run stoa -- recover --log`);
  }

  #freeze(why: string): void {
    const text = /[.:]$/.test(why) ? why : `${why}.`;
    if (text !== this.#obstacle) this.#options.log.error({}, `the log is frozen: ${text}`);
    this.#obstacle = text;
  }

  #thaw(): void {
    if (this.#isFrozen) this.#options.log.info({}, "the log goes on");
    this.#obstacle = undefined;
  }
}
