/**
 * Why something of a log is refused. The set is closed. Each code has a vector in test/vectors/log/, except `bad_range` and
 * `out_of_range`, which are no faults of what others send.
 */
export type TlogFault =
  // It is malformed.
  /** The stored form of a compact range. */
  | "bad_range"
  | "bad_tile_path"
  /** The length of a tile is not that of its width. */
  | "bad_tile"
  | "bad_bundle"
  | "bad_key"
  | "bad_note"
  | "bad_checkpoint"
  | "bad_policy"
  | "bad_proof"
  /** The extra data of a proof, in which the entry and the text stand. */
  | "bad_extra"
  | "bad_entry"
  /** The text that an entry commits to. */
  | "bad_content"
  // It is well formed and does not verify.
  /** A checkpoint is of another log. */
  | "other_origin"
  /** A note has no signature of the key. */
  | "unsigned"
  | "bad_signature"
  /** A tile does not hash to its parent, or the tiles do not hash to the root. */
  | "wrong_tile"
  /** An inclusion proof does not lead to the root. */
  | "not_included"
  /**
   * Two trees contradict each other: a consistency proof does not lead to both roots. This library verifies no such proofs; it
   * computes roots from tiles.
   */
  | "not_consistent"
  /** An entry stands where no such entry may stand, or names another log or key than those that signed. */
  | "misplaced_entry"
  /** A proof is of another item than the one that was asked for. */
  | "other_item"
  /** Salt and text do not hash to the commitment of the entry. */
  | "wrong_content"
  /** A proof does not have the text that must be compared. */
  | "content_withheld"
  /** A proven text differs from the one that was shown. */
  | "other_content"
  /** The caller asked for what a tree of this size does not have. */
  | "out_of_range";

/**
 * The one error of this folder. Every other error comes from a function that was passed in. The message is for people. It has
 * no secret, and text from elsewhere only if that is printable ASCII.
 */
export class TlogError extends Error {
  override readonly name = "TlogError";
  readonly code: TlogFault;

  constructor(code: TlogFault, message: string) {
    super(message);
    this.code = code;
  }
}
