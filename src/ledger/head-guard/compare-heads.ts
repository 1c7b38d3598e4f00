import { findMalformedMember, type ReceiptDocument } from "../../receipt/document.ts";
import { parseJson } from "../../receipt/parse.ts";
import { abandonedBy, type Head } from "../../receipt/recovery.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { findLinks, type ReceiptRow } from "../../store/tables/receipts.ts";
import { listRecoveryRows } from "../../store/tables/recoveries.ts";
import { sha256 } from "../sha256.ts";
import type { ServedHead } from "./head-folder.ts";

/** A head that was served and that the chain does not have. */
export interface MissingHead {
  head: ServedHead;
  /** `truncated`: the chain ends before it. `replaced`: the chain has another receipt in its place. */
  kind: "truncated" | "replaced";
}

interface HeadComparison {
  missing: MissingHead[];
  /** The hashes of the recoveries in the chain, up to its head. */
  recoveries: string[];
}

/**
 * Finds the served heads that a chain does not have, unless a recovery in the chain explains their absence.
 * @param head the newest receipt of the chain
 */
export async function compareHeads(db: Queryable, head: Head, served: readonly ServedHead[]): Promise<HeadComparison> {
  // A recovery that was sealed after `head` was read does not belong to the chain that ends there.
  const recoveries = (await listRecoveryRows(db, head.seq)).flatMap(readRecovery);
  const missing: MissingHead[] = [];
  for (const each of served) {
    if (await contains(db, head, each)) continue;
    if (recoveries.some((recovery) => covers(recovery, each))) continue;
    missing.push({ head: each, kind: each.seq > head.seq ? "truncated" : "replaced" });
  }
  return { missing, recoveries: recoveries.map(({ hash }) => hash) };
}

/** Whether the chain that ends at `head` has this receipt. */
export async function contains(db: Queryable, head: Head, { seq, hash }: Head): Promise<boolean> {
  if (seq >= head.seq) return seq === head.seq && hash === head.hash;
  // One of the two recorded hashes is enough. If they differ, a row is damaged, which verification finds.
  return (await findLinks(db, seq)).includes(hash);
}

interface Recovery {
  hash: string;
  abandoned: Head;
}

/**
 * Whether a recovery explains why its chain does not have a served head, by the rules of FORMAT.md. A recovery explains
 * nothing about heads that came after it in its own chain.
 */
function covers({ hash, abandoned }: Recovery, served: ServedHead): boolean {
  if (served.recoveries.includes(hash)) return false;
  return served.seq < abandoned.seq || (served.seq === abandoned.seq && served.hash === abandoned.hash);
}

/** The recovery in a stored receipt; none if its bytes are damaged or it has another type. */
function readRecovery({ hash, prev_hash, canonical }: ReceiptRow): Recovery[] {
  if (sha256(canonical) !== hash) return [];
  const document = parseJson(canonical.toString("utf8"));
  if (findMalformedMember(document, prev_hash) !== undefined) return [];
  const abandoned = abandonedBy(document as unknown as ReceiptDocument);
  return abandoned === undefined ? [] : [{ hash, abandoned }];
}
