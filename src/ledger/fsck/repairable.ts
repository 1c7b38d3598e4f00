import type { Tx } from "../../store/database/queryable.ts";
import type { Finding } from "../../store/recount/finding.ts";

/** A finding, and its repair if there is one. The head must be locked for the repair. */
export interface Repairable {
  finding: Finding;
  repair?: (tx: Tx) => Promise<void>;
}
