import { type Head, rivalOf } from "../../receipt/recovery.ts";
import { type Finding, type Link, verifyNext } from "../../receipt/verify.ts";
import type { ReceiptRow } from "../../store/tables/receipts.ts";
import { sha256 } from "../sha256.ts";

/** The result of verifying a page of receipts. */
export interface VerifiedPage {
  /** The last good receipt. */
  link: Link;
  finding: Finding | undefined;
  /** What recoveries abandon, each with the link before the recovery. The caller must check that it is not in the chain. */
  rivals: { before: Link; rival: Head }[];
}

/** Verifies receipts that follow a good one, by the rules of `verifyNext`. Threads run this function, too. */
export function verifyPage(start: Link, rows: readonly ReceiptRow[]): VerifiedPage {
  const page: VerifiedPage = { link: start, finding: undefined, rivals: [] };
  for (const { seq, hash, prev_hash, canonical } of rows) {
    const receipt = { bytes: canonical, computedHash: sha256(canonical), seq, hash, prevHash: prev_hash };
    const verdict = verifyNext(page.link, receipt);
    if (!verdict.ok) return { ...page, finding: verdict.finding };
    const rival = rivalOf(verdict.document);
    if (rival !== undefined) page.rivals.push({ before: page.link, rival });
    page.link = verdict.link;
  }
  return page;
}
