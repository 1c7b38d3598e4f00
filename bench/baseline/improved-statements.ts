// The statements of the improved routes: copies of the service's.
import { addToAgent, insertTokens, votes } from "./statements.ts";

export { addToAgent, insertTokens };

const improved = (
  kind: keyof typeof votes,
  things: string,
  table: string,
  key: string,
  counts: string,
  author = "",
) => {
  const all = author === "" ? counts : `${counts}, a.karma = a.karma + ?`;
  return {
    ...votes[kind],
    putCounts: `UPDATE ${things} t ${author} SET ${all} WHERE t.id = ?`,
    putAll: `UPDATE ${things} t LEFT JOIN ${table} v ON v.${key} = t.id AND v.agent_id = ? ${author}
      SET v.value = ?, ${all} WHERE t.id = ?`,
    changesKarma: author !== "",
  };
};
export const improvedVotes = {
  posts: improved("posts", "posts", "votes", "post_id", "t.upvotes = ?, t.downvotes = ?"),
  comments: improved(
    "comments",
    "comments",
    "comment_votes",
    "comment_id",
    "t.upvotes = ?, t.downvotes = ?, t.score = ?",
    "LEFT JOIN agents a ON a.id = t.author_id",
  ),
};

const firstOf = (table: string, removed: number) =>
  `(SELECT id, score, created_at, ${removed} AS removed FROM ${table} FORCE INDEX (${table}_time)
       WHERE post_id = ? ORDER BY created_at, id LIMIT ?)`;
export const findPostWithComments = `SELECT STRAIGHT_JOIN p.id, p.id AS post_id, NULL AS parent_id, p.body, a.name AS author,
      a.resident AS author_resident, p.upvotes, p.downvotes, p.created_at, p.edited_at, NULL AS removed_by, NULL AS reason,
      NULL AS removed_at, p.title, c.name AS community, p.comment_count, p.locked
     FROM posts p JOIN communities c ON c.id = p.community_id JOIN agents a ON a.id = p.author_id WHERE p.id = ?
     UNION ALL
     SELECT STRAIGHT_JOIN page.id, COALESCE(c.post_id, r.post_id), COALESCE(c.parent_id, r.parent_id) AS parent_id,
      COALESCE(c.body, '') AS body, a.name AS author, a.resident AS author_resident, COALESCE(c.upvotes, r.upvotes) AS upvotes,
      COALESCE(c.downvotes, r.downvotes) AS downvotes, COALESCE(c.created_at, r.created_at) AS created_at,
      COALESCE(c.edited_at, r.edited_at) AS edited_at, r.removed_by, r.reason, r.removed_at, NULL, NULL, NULL, NULL
     FROM ( ${firstOf("comments", 0)} UNION ALL ${firstOf("removed_comments", 1)} ORDER BY created_at, id LIMIT ? ) page
     LEFT JOIN comments c ON page.removed = 0 AND c.id = page.id
     LEFT JOIN removed_comments r ON page.removed = 1 AND r.id = page.id
     LEFT JOIN agents a ON a.id = c.author_id`;

/** As the service, which counts the posts of a community elsewhere than the plain routes. */
export const findCommunity = "SELECT id FROM communities WHERE name = ?";
export const insertPostInto = `INSERT INTO posts (community_id, author_id, title, body, created_at, noted, salt)
    VALUES ((SELECT id FROM communities WHERE id = ? AND name = ?), ?, ?, ?, ?, 0, ?)`;
export const countForAuthor = "UPDATE agents SET posts = posts + ?, karma = karma + ? WHERE id = ? AND suspended = 0";
/** As the service, which sends it with COMMIT. */
export const countNewPost = (communityId: number, part: number) =>
  `INSERT INTO community_post_counts (community_id, part, posts) VALUES (${communityId}, ${part}, 1)
     ON DUPLICATE KEY UPDATE posts = posts + 1`;
