import type { Database } from "../store/database/database.ts";

/** How long a server of a cluster may be behind another one, in steps, in milliseconds. */
const waitsMs: readonly number[] = [100, 300, 600];

/**
 * The waits before something that seems to be missing is looked for again, in milliseconds. None with a single server: what
 * is not there has not been committed.
 */
export function lookAgainMs(db: Pick<Database, "isCluster">): readonly number[] {
  return db.isCluster ? waitsMs : [];
}
