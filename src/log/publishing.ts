import type { CompactRange } from "../tlog/tree/compact-range.ts";
import type { Tree } from "../tlog/tree/proofs.ts";

/** Entries that a transaction of this process has appended to the log, and of which it knows that it has committed. */
export interface CommittedBatch {
  /** The index of the first entry: the size of the tree before. */
  from: number;
  /** The exact bytes of the entries, in the order of the tree. */
  entries: readonly Uint8Array[];
  /** The root of the tree that ends with the last of them, as log_head has it. */
  root: Uint8Array;
}

/** What signs and publishes the trees that the sequencer commits. There is one in each process. */
export interface Publishing {
  /**
   * The newest tree that is published here; undefined before the first. The sequencer appends to this tree and to no other,
   * by the condition of its compare-and-set: a database that was rolled back, or lost a commit when it failed over, is not
   * extended beside what was published. If log_head has another tree, call `publish`.
   */
  readonly tree: Tree | undefined;

  /** The entries of the log folder, as a range of the caller's own; undefined while there is no folder. */
  readonly range: CompactRange | undefined;

  /**
   * Why the log must not grow now, in a sentence for the operator; undefined while it may. The sequencer asks before each
   * batch: the outbox waits meanwhile, and the board writes on.
   */
  readonly obstacle: string | undefined;

  /**
   * Publishes the tree of log_head: stores its entries in the folder, signs the root and stores the note. The sequencer
   * calls it after each batch, and begins no other batch before it has succeeded. Whoever finds a tree without its note calls
   * it, too. Calls run one after the other.
   * @param batch the entries from the newest note on, if this process has just committed them. Without it, as when a COMMIT
   *   got no answer, they are read from the database
   * @throws StoaError `unavailable` when database or disk fail. The tree then waits for its note: call it again later. It
   *   does not throw when it meets an obstacle: ask for `obstacle`
   */
  publish(signal: AbortSignal, batch?: CommittedBatch): Promise<void>;
}
