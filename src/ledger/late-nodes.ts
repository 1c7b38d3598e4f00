import type { Database } from "../store/database/database.ts";

/** A server of a cluster may be behind another one by the sum of these waits, in milliseconds. */
const waitsMs: readonly number[] = [100, 300, 600];

/**
 * The waits before something that seems to be missing is looked for again, in milliseconds. With a single server there are
 * none: what is missing there was not committed.
 */
export function lookAgainMs(db: Pick<Database, "isCluster">): readonly number[] {
  return db.isCluster ? waitsMs : [];
}
