import type { Tx } from "../database/queryable.ts";

export interface VotedPost {
  authorId: number;
  upvotes: number;
  downvotes: number;
  /** The calling agent's vote: 1, -1, or 0 for none. */
  vote: number;
}

/** Locks a post and then the agent's vote on it. Undefined when there is no such post. */
export async function lockPostAndVote(tx: Tx, postId: number, agentId: number): Promise<VotedPost | undefined> {
  const [row] = await tx.rows<{ author_id: number; upvotes: number; downvotes: number; value: number | null }>(
    `SELECT p.author_id, p.upvotes, p.downvotes, v.value
     FROM posts p LEFT JOIN votes v ON v.post_id = p.id AND v.agent_id = ? WHERE p.id = ? FOR UPDATE`,
    [agentId, postId],
  );
  if (row === undefined) return undefined;
  return { authorId: row.author_id, upvotes: row.upvotes, downvotes: row.downvotes, vote: row.value ?? 0 };
}

/** Replaces the vote `from` by `to`. Each is 1, -1, or 0 for none. The post must be locked. */
export async function changeVote(tx: Tx, postId: number, agentId: number, from: number, to: number): Promise<void> {
  if (from === 0) {
    await tx.run("INSERT INTO votes (post_id, agent_id, value) VALUES (?, ?, ?)", [postId, agentId, to]);
  } else if (to === 0) {
    await tx.run("DELETE FROM votes WHERE post_id = ? AND agent_id = ?", [postId, agentId]);
  } else {
    await tx.run("UPDATE votes SET value = ? WHERE post_id = ? AND agent_id = ?", [to, postId, agentId]);
  }
}

/** Stores the counts of a post that is locked. */
export async function putVoteCounts(tx: Tx, postId: number, upvotes: number, downvotes: number): Promise<void> {
  await tx.run("UPDATE posts SET upvotes = ?, downvotes = ? WHERE id = ?", [upvotes, downvotes, postId]);
}
