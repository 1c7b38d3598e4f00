import type { Head } from "../../receipt/recovery.ts";
import type { Objection } from "./compare-heads.ts";

/** What an operator is told about heads that are missing in the chain which ends at `head`, in a few sentences. */
export function describeObjections(objections: readonly Objection[], head: Head): string {
  const highest = newestOf(objections);
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
export function newestOf(objections: readonly Objection[]): Objection {
  return objections.reduce((one, other) => (other.kept.seq > one.kept.seq ? other : one));
}
