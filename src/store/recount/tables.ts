import type { Tx } from "../database/queryable.ts";
import { putPostCount } from "../tables/post-counts.ts";
import { putCommentCount } from "../tables/removed-posts.ts";
import { agentCheck, agentLimitCheck, suspensionCheck } from "./agents.ts";
import { commentCheck, removedCommentCheck } from "./comments.ts";
import { communityCheck, moderatorCheck, postCountCheck } from "./communities.ts";
import type { Finding, TableCheck } from "./finding.ts";
import { inboxCheck, inboxItemCheck, itemRulesCheck, subscriptionCheck } from "./inboxes.ts";
import { moderationChecks } from "./moderation-tables.ts";
import { postCheck, removedPostCheck } from "./posts.ts";
import { commentVoteCheck, voteCheck } from "./votes.ts";

/** The checks of the board's tables. Those of search and of missing items are in board/recount/checks.ts. */
export const tableChecks: readonly TableCheck[] = [
  postCountCheck,
  communityCheck,
  postCheck,
  voteCheck,
  commentCheck,
  commentVoteCheck,
  removedPostCheck,
  removedCommentCheck,
  agentCheck,
  inboxItemCheck,
  itemRulesCheck,
  inboxCheck,
  subscriptionCheck,
  agentLimitCheck,
  suspensionCheck,
  moderatorCheck,
  ...moderationChecks,
];

/** Whether `repairRow` can set the value that a finding is about. */
export function isRepairable({ table, derived }: TableCheck, finding: Finding): boolean {
  return finding.wrong !== undefined && derived.some((column) => finding.subject === `${table}.${column}`);
}

/**
 * Recounts one row and corrects the columns that differ. It locks only this row, before it counts. Every write that changes the
 * counted rows also locks this row before its commit. So the count is of committed rows, and a write that waits for the lock
 * then adds to the repaired value.
 * @returns what was repaired; nothing if the row is right or gone
 */
export async function repairRow(tx: Tx, check: TableCheck, id: number, now: number): Promise<Finding[]> {
  const { table, key } = check;
  await tx.rows(`SELECT ${key} FROM ${table} WHERE ${key} = ? FOR UPDATE`, [id]);
  const found = (await check.find(tx, { after: id - 1, to: id }, now)).filter((finding) =>
    isRepairable(check, finding),
  );
  for (const { subject, wrong } of found) {
    const column = check.derived.find((each) => subject === `${table}.${each}`);
    const value = wrong?.counted ?? null;
    if (subject === "posts.comment_count") await putCommentCount(tx, id, value);
    else if (subject === "communities.post_count") await putPostCount(tx, id, Number(value));
    else await tx.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, [value, id]);
  }
  return found;
}
