import { createRowCheck } from "./row-check.ts";
import { toAgent } from "./rules.ts";

/** SQL: the right number of up- and downvotes on the post or comment `t`. */
export function voteCounts(votes: "votes" | "comment_votes", item: "post" | "comment") {
  const count = (value: 1 | -1) =>
    `(SELECT COUNT(*) FROM ${votes} v FORCE INDEX (PRIMARY) WHERE v.${item}_id = t.id AND v.value = ${value})`;
  return { upvotes: count(1), downvotes: count(-1) };
}

export const voteCheck = createVoteCheck("votes", "post");
export const commentVoteCheck = createVoteCheck("comment_votes", "comment");

/** Votes cannot be repaired: counters follow from the votes, and votes from nothing. */
function createVoteCheck(table: "votes" | "comment_votes", item: "post" | "comment") {
  const column = `${item}_id`;
  return createRowCheck(table, {
    key: [column, "agent_id"],
    from: `${table} t FORCE INDEX (PRIMARY) LEFT JOIN ${item}s p ON p.id = t.${column}
      LEFT JOIN removed_${item}s d ON d.id = t.${column}`,
    rules: [
      ["value", "t.value IN (1, -1)", (value) => `stored ${value}, which is neither 1 nor -1`],
      [column, "COALESCE(p.id, d.id) IS NOT NULL", (id) => `there is no ${item} ${id}`],
      toAgent,
      ["agent_id", "NOT COALESCE(p.author_id, d.author_id) <=> t.agent_id", `the agent is the author of the ${item}`],
    ],
  });
}
