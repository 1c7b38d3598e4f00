import { findMalformedMember, type ReceiptDocument } from "../../receipt/document.ts";
import { parseJson } from "../../receipt/parse.ts";
import { abandonedBy, type Head } from "../../receipt/recovery.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { findLinks, type ReceiptRow } from "../../store/tables/receipts.ts";
import { listRecoveryRows } from "../../store/tables/recoveries.ts";
import { sha256 } from "../sealing/append.ts";
import type { ServedHead } from "./head-folder.ts";

/** A head that was served and that the chain does not have. */
export interface MissingHead {
  kept: ServedHead;
  /** The chain ends before it; or it has another receipt in its place. */
  kind: "below" | "beside";
}

export interface HeadComparison {
  missing: MissingHead[];
  /** The hashes of the recoveries in the chain. */
  recoveries: string[];
}

/**
 * Whether a chain still has the heads that were served, or has a recovery that explains why not.
 * @param head the newest receipt of the chain
 */
export async function compareHeads(db: Queryable, head: Head, heads: readonly ServedHead[]): Promise<HeadComparison> {
  const recoveries = (await listRecoveryRows(db)).flatMap(readRecovery);
  const missing: MissingHead[] = [];
  for (const kept of heads) {
    if (await contains(db, head, kept)) continue;
    if (recoveries.some((recovery) => covers(recovery, kept))) continue;
    missing.push({ kept, kind: kept.seq > head.seq ? "below" : "beside" });
  }
  return { missing, recoveries: recoveries.map(({ hash }) => hash) };
}

/** Whether the chain that ends at `head` has this receipt. */
export async function contains(db: Queryable, head: Head, { seq, hash }: Head): Promise<boolean> {
  if (seq >= head.seq) return seq === head.seq && hash === head.hash;
  // Either will do: when only one of them differs a row is damaged, which is for a verification to find.
  return (await findLinks(db, seq)).includes(hash);
}

interface Recovery {
  hash: string;
  abandoned: Head;
}

/**
 * Whether a recovery explains that a head is not in its chain; FORMAT.md says the same. It explains nothing about heads that
 * came after it in its own chain.
 */
function covers({ hash, abandoned }: Recovery, kept: ServedHead): boolean {
  if (kept.recoveries.includes(hash)) return false;
  return kept.seq < abandoned.seq || (kept.seq === abandoned.seq && kept.hash === abandoned.hash);
}

/** The recovery that a stored receipt is: none, where its bytes are damaged or of another type. */
function readRecovery({ hash, prev_hash, canonical }: ReceiptRow): Recovery[] {
  if (sha256(canonical) !== hash) return [];
  const document = parseJson(canonical.toString("utf8"));
  if (findMalformedMember(document, prev_hash) !== undefined) return [];
  const abandoned = abandonedBy(document as unknown as ReceiptDocument);
  return abandoned === undefined ? [] : [{ hash, abandoned }];
}
