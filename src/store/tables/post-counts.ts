import type { Queryable, Tx } from "../database/queryable.ts";

/*
 * How many posts a community has is the sum of communities.post_count and of its rows in community_post_counts. Whoever
 * changes it has share-locked the community: a new post does that by its foreign key.
 */

/** Into how many rows the count of a community is divided. Older rows stay right if this changes. */
const parts = 8;

/** The count of the community `c`, as an expression. It reads `parts` rows. */
export const postCount = `CAST(c.post_count + COALESCE(
    (SELECT SUM(posts) FROM community_post_counts WHERE community_id = c.id), 0) AS SIGNED)`;

/** How many posts a community has; 0 when there is no such community. */
export async function countPosts(db: Queryable, communityId: number): Promise<number> {
  const sql = `SELECT ${postCount} AS post_count FROM communities c WHERE c.id = ?`;
  return (await db.rows<{ post_count: number }>(sql, [communityId]))[0]?.post_count ?? 0;
}

/**
 * Counts a post for its author, and for its community when the transaction commits: all posts of a community wait for these
 * few rows, so a transaction locks no other row after them.
 * @param change posts: 1 for one that is new or restored, -1 for one that is removed
 * @returns false, and nothing is counted, if the author may not be suspended and is
 */
export async function countPost(
  tx: Tx,
  communityId: number,
  authorId: number,
  { posts, karma, unlessSuspended = false }: { posts: 1 | -1; karma: number; unlessSuspended?: boolean },
): Promise<boolean> {
  if (!Number.isSafeInteger(communityId) || !Number.isSafeInteger(authorId)) throw new Error("These are no ids.");
  const sql = `UPDATE agents SET posts = posts + ?, karma = karma + ? WHERE id = ?`;
  const of = [posts, karma, authorId];
  const { affectedRows } = await tx.run(unlessSuspended ? `${sql} AND suspended = 0` : sql, of);
  if (affectedRows === 0) return false;
  tx.runAtCommit(
    `INSERT INTO community_post_counts (community_id, part, posts) VALUES (${communityId}, ${authorId % parts}, ${posts})
     ON DUPLICATE KEY UPDATE posts = posts + ${posts}`,
  );
  return true;
}

/** Corrects the count of a community. It must be locked for writing, so that nobody counts meanwhile. */
export async function putPostCount(tx: Tx, communityId: number, count: number): Promise<void> {
  await tx.run(
    `UPDATE communities SET post_count = ? - COALESCE(
       (SELECT SUM(posts) FROM community_post_counts WHERE community_id = ?), 0) WHERE id = ?`,
    [count, communityId, communityId],
  );
}
