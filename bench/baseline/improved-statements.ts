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

/** As the service, which counts the posts of a community elsewhere than the plain routes. */
export const findCommunity = "SELECT id FROM communities WHERE name = ?";
export const insertPostInto = `INSERT INTO posts (community_id, author_id, title, body, created_at, noted, salt)
    VALUES ((SELECT id FROM communities WHERE id = ? AND name = ?), ?, ?, ?, ?, 0, ?)`;
export const countForAuthor = "UPDATE agents SET posts = posts + ?, karma = karma + ? WHERE id = ? AND suspended = 0";
/** As the service, which sends it with COMMIT. */
export const countNewPost = (communityId: number, part: number) =>
  `INSERT INTO community_post_counts (community_id, part, posts) VALUES (${communityId}, ${part}, 1)
     ON DUPLICATE KEY UPDATE posts = posts + 1`;
