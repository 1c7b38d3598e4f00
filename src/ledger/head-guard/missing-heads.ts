import type { Head } from "../../receipt/recovery.ts";
import type { MissingHead } from "./compare-heads.ts";

/** Tells the operator, in a few sentences, which served heads are missing from the chain that ends at `head`. */
export function describeMissingHeads(missing: readonly MissingHead[], head: Head): string {
  const newest = newestMissing(missing);
  const { seq, hash } = newest.head;
  const what =
    newest.kind === "truncated"
      ? `the ledger in the database ends at receipt ${head.seq}`
      : `the database has another receipt ${seq} now`;
  return (
    `This replica has served receipt ${seq} (hash ${hash}), and ${what}, as after a restore of a backup.` +
    " An operator must decide: npm run stoa -- recover."
  );
}

/** The missing head with the highest seq. */
export function newestMissing(missing: readonly MissingHead[]): MissingHead {
  return missing.reduce((one, other) => (other.head.seq > one.head.seq ? other : one));
}
