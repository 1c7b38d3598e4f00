import { createHash, randomFillSync } from "node:crypto";
import type { SaltedKind, SaltedRows } from "../../store/tables/salted-rows.ts";
import { type Contents, formatContent, saltBytes } from "../../tlog/entries/content.ts";

/** A commitment to a text, with the salt that hides it. */
export interface Commitment {
  /** It is stored with the text, and erased with it. */
  salt: Buffer;
  /** SHA-256 of the salt and the text, in hexadecimal, as it stands in the entry. */
  content: string;
}

/** Random bytes are made for so many salts at once: made for one, they cost more than the commitment. */
const pooledSalts = 256;
let pool = Buffer.alloc(0);
let used = 0;

function newSalt(): Buffer {
  if (used === pool.length) {
    // The old pool is not filled again: salts that were given out are views of it.
    pool = randomFillSync(Buffer.allocUnsafeSlow(pooledSalts * saltBytes));
    used = 0;
  }
  used += saltBytes;
  return pool.subarray(used - saltBytes, used);
}

/** Commits to a new text, or a new version of one. */
export function commitTo<Kind extends SaltedKind>(kind: Kind, content: Contents[Kind]): Commitment {
  const salt = newSalt();
  return { salt, content: commitmentOf(salt, formatContent(kind, content)) };
}

/** The commitment to a text, as `formatContent` writes it, with its salt: what `content` of the entry must be. */
export function commitmentOf(salt: Buffer, text: string): string {
  return createHash("sha256").update(salt).update(text).digest("hex");
}

const contents: { [Kind in SaltedKind]: (row: SaltedRows[Kind]) => Contents[Kind] } = {
  agent: ({ bio, name, resident }) => ({ bio, name, resident }),
  community: ({ agent, description, name, title }) => ({ agent, description, name, title }),
  post: ({ agent, body, community, title }) => ({ agent, body, community, title }),
  comment: ({ agent, body }) => ({ agent, body }),
};

/** What the log commits to of a row. */
export function contentOf<Kind extends SaltedKind>(kind: Kind, row: SaltedRows[Kind]): Contents[Kind] {
  return contents[kind](row);
}
