// The extra data of this log's proofs: the entry, and the text that it commits to, if that is shown.

import { fromHex, fromUtf8, toHex, toUtf8 } from "../encoding.ts";
import { canonicalText, parseCanonicalObject } from "../entries/canonical-text.ts";
import { saltBytes } from "../entries/content.ts";
import { TlogError } from "../error.ts";

export interface ProofExtra {
  /** The exact text of the entry. */
  entry: string;
  /** The exact text C and its salt; undefined if the text is not shown, or if the entry commits to none. */
  text?: { content: string; salt: Uint8Array } | undefined;
}

/** @returns RFC 8785 of `{"content", "entry", "salt"}`. @throws TlogError `bad_extra` for a text with half of a character */
export function formatExtra({ entry, text }: ProofExtra): Uint8Array<ArrayBuffer> {
  const salt = text === undefined ? null : toHex(text.salt);
  const extra = canonicalText({ content: text?.content ?? null, entry, salt });
  if (extra === undefined) throw badExtra("it has no canonical form");
  return toUtf8(extra);
}

/** Unknown members are no fault. @throws TlogError `bad_extra` */
export function parseExtra(bytes: Uint8Array | undefined): ProofExtra {
  if (bytes === undefined) throw badExtra("there is none");
  const text = fromUtf8(bytes);
  const extra = text === undefined ? undefined : parseCanonicalObject(text);
  if (extra === undefined) throw badExtra("it is not an object in canonical JSON");
  const { content, entry, salt } = extra;
  if (typeof entry !== "string") throw badExtra("it has no entry");
  if (content === null && salt === null) return { entry };
  const bytesOfSalt = typeof salt === "string" ? fromHex(salt, saltBytes) : undefined;
  if (typeof content !== "string" || bytesOfSalt === undefined) {
    throw badExtra("its content and salt are neither null nor a text and 16 bytes");
  }
  return { entry, text: { content, salt: bytesOfSalt } };
}

function badExtra(why: string): TlogError {
  return new TlogError("bad_extra", `the extra data of the proof is malformed: ${why}`);
}
