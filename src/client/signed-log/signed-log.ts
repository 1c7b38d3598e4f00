import { equalBytes } from "../../tlog/encoding.ts";
import type { LogEntry } from "../../tlog/entries/entry.ts";
import { parseEntry } from "../../tlog/entries/entry-text.ts";
import { type Checkpoint, openCheckpoint, parseCheckpoint } from "../../tlog/notes/checkpoint.ts";
import { type NoteKey, parseVkey } from "../../tlog/notes/key.ts";
import { parseNote } from "../../tlog/notes/note.ts";
import { checkPlace } from "../../tlog/proofs/verify-item.ts";
import { parseBundle } from "../../tlog/tiles/bundle.ts";
import { fullWidth } from "../../tlog/tiles/tile-path.ts";
import { TiledTree } from "../../tlog/tiles/tiled-tree.ts";
import { leafInput } from "../../tlog/tree/hashing.ts";
import type { Tree } from "../../tlog/tree/proofs.ts";
import { sleep } from "../backoff.ts";
import { StoaError } from "../error.ts";
import { findingOf, LogFinding } from "./finding.ts";
import { logFunctions } from "./functions.ts";
import { RecentTiles } from "./recent-tiles.ts";
import type { LogFiles } from "./source.ts";

/** What is known of a log beforehand. */
export interface KnownLog {
  /** Its key, from a source that is trusted. Without it, the key that the log itself names is believed. */
  key?: NoteKey | undefined;
  /** The newest tree that was seen. */
  tree?: Tree | undefined;
}

/** A tree that a log has signed. */
interface SignedTree {
  /** The signed note. */
  note: Uint8Array;
  checkpoint: Checkpoint;
  tree: TiledTree;
}

/** How often a newer checkpoint is requested. The replica that is asked may be late by a second. */
const tries = 5;
/** The wait between two of these requests, in milliseconds. */
const waitMs = 500;

/** A log with the newest tree that it has signed. Whatever it returns is verified against that tree. */
export class SignedLog {
  readonly source: LogFiles;
  readonly key: NoteKey;
  readonly #signal: AbortSignal | undefined;
  #newest: SignedTree;

  private constructor(source: LogFiles, key: NoteKey, newest: SignedTree, signal: AbortSignal | undefined) {
    this.source = source;
    this.key = key;
    this.#newest = newest;
    this.#signal = signal;
  }

  /**
   * Reads the newest checkpoint, and checks its signature and that its tree extends the known one.
   * @returns undefined if there is no log at the address
   * @throws LogFinding or TlogError for a log that does not verify; StoaError; the signal's reason
   */
  static async open(source: LogFiles, known: KnownLog, signal?: AbortSignal): Promise<SignedLog | undefined> {
    const note = await source.checkpoint();
    if (note === undefined) return undefined;
    const key = known.key ?? (await claimedKey(source, note));
    const log = new SignedLog(source, key, await readTree(source, note, key), signal);
    if (known.key === undefined) await log.first();
    if (known.tree !== undefined) await log.mustCover(known.tree, "seen before");
    return log;
  }

  /** The signed note of the newest tree. */
  get note(): Uint8Array {
    return this.#newest.note;
  }

  get checkpoint(): Checkpoint {
    return this.#newest.checkpoint;
  }

  get tree(): TiledTree {
    return this.#newest.tree;
  }

  /** Entry 0, which says which log this is. @throws LogFinding, TlogError; StoaError */
  async first(): Promise<LogEntry> {
    const bytes = await readFirst(this.source, this.checkpoint.size);
    const [leaf, expected] = await Promise.all([
      logFunctions.sha256(leafInput(bytes)),
      this.tree.subtree({ height: 0, index: 0 }),
    ]);
    if (!equalBytes(leaf, expected)) throw new LogFinding("wrong_tile", "entry 0 is not in the tree");
    const entry = parseEntry(bytes);
    checkPlace(entry, 0, this.key);
    return entry as LogEntry;
  }

  /**
   * Checks that the log had a given tree. If that is larger than the newest tree, newer checkpoints are read.
   * @returns what is wrong; undefined if nothing is
   * @throws LogFinding or TlogError if the log itself does not verify; StoaError; the signal's reason
   */
  async covers({ size, root }: Tree): Promise<"shrunk" | "not_consistent" | undefined> {
    for (let attempt = 0; size > this.checkpoint.size; attempt++) {
      if (attempt === tries) return "shrunk";
      if (attempt > 0) await sleep(waitMs, this.#signal);
      await this.#advance();
    }
    return equalBytes(await this.tree.root(size), root) ? undefined : "not_consistent";
  }

  /** Like `covers`. @param when how the tree is known, for the message. @throws LogFinding; what `covers` throws */
  async mustCover(tree: Tree, when: string): Promise<void> {
    const fault = await this.covers(tree);
    if (fault === "shrunk") {
      throw new LogFinding(fault, `the log has ${this.checkpoint.size} entries; ${tree.size} were ${when}`);
    }
    if (fault !== undefined)
      throw new LogFinding(fault, `the log does not begin with the ${tree.size} entries ${when}`);
  }

  /** Reads the newest checkpoint. A late replica may give an older one, which must be consistent with the newest, too. */
  async #advance(): Promise<void> {
    const note = await this.source.checkpoint();
    if (note === undefined) throw new LogFinding("gone", "the checkpoint is gone");
    const before = this.checkpoint;
    const next = await readTree(this.source, note, this.key);
    const [older, newer] = next.checkpoint.size < before.size ? [next, this.#newest] : [this.#newest, next];
    if (!equalBytes(await newer.tree.root(older.checkpoint.size), older.checkpoint.root)) {
      throw new LogFinding("not_consistent", "the log has signed two trees, and neither extends the other");
    }
    this.#newest = newer;
  }
}

async function readTree(source: LogFiles, note: Uint8Array, key: NoteKey): Promise<SignedTree> {
  const { checkpoint } = await openCheckpoint(note, [key], logFunctions.verifyEd25519);
  // Trees share no cache: nobody has checked yet that one extends the other.
  const tree = await TiledTree.open(checkpoint, (tile) => source.tile(tile), logFunctions.sha256, new RecentTiles());
  return { note, checkpoint, tree };
}

/** The key that a log says it has. Nothing of it is verified. @throws StoaError `unusable` if this is no log; LogFinding */
async function claimedKey(source: LogFiles, note: Uint8Array): Promise<NoteKey> {
  let size: number;
  try {
    ({ size } = parseCheckpoint(parseNote(note).text));
  } catch (error) {
    const finding = findingOf(error);
    if (finding === undefined) throw error;
    throw new StoaError("unusable", `this is not a log: ${finding.message}`);
  }
  const entry = parseEntry(await readFirst(source, size));
  if (entry.type !== "log") throw new LogFinding("misplaced_entry", "entry 0 does not say which log this is");
  return parseVkey(entry.vkey, logFunctions.sha256);
}

async function readFirst(source: LogFiles, size: number): Promise<Uint8Array> {
  if (size === 0) throw new StoaError("unusable", "the log has no entries yet");
  const width = Math.min(size, fullWidth);
  const [entry] = parseBundle(await source.tile({ level: "entries", index: 0, width }), width);
  return entry as Uint8Array;
}
