import type { Head } from "../../receipt/recovery.ts";
import type { MissingHead } from "./compare-heads.ts";

/** What an operator is told about heads that are missing in the chain which ends at `head`, in a few sentences. */
export function describeMissingHeads(missing: readonly MissingHead[], head: Head): string {
  const highest = newestMissing(missing);
  const { seq, hash } = highest.kept;
  const what =
    highest.kind === "below"
      ? `the ledger in the database ends at receipt ${head.seq}`
      : `the database has another receipt ${seq} now`;
  return (
    `This replica has served receipt ${seq} (hash ${hash}), and ${what}, as after a restore of a backup.` +
    " An operator must decide: npm run stoa -- recover."
  );
}

/** The objection about the newest receipt. */
export function newestMissing(missing: readonly MissingHead[]): MissingHead {
  return missing.reduce((one, other) => (other.kept.seq > one.kept.seq ? other : one));
}
