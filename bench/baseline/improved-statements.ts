// The statements of the improved routes: copies of the service's.
import { addToWriter, countPostOfCommunity, insertPost, insertTokens, votes } from "./statements.ts";

export { addToWriter, countPostOfCommunity, insertPost, insertTokens };

const author = "LEFT JOIN agents a ON a.id = t.author_id";
const improved = (kind: keyof typeof votes, things: string, table: string, key: string, counts: string) => ({
  ...votes[kind],
  putCounts: `UPDATE ${things} t ${author} SET ${counts}, a.karma = a.karma + ? WHERE t.id = ?`,
  putAll: `UPDATE ${things} t LEFT JOIN ${table} v ON v.${key} = t.id AND v.agent_id = ? ${author}
    SET v.value = ?, ${counts}, a.karma = a.karma + ? WHERE t.id = ?`,
});
export const improvedVotes = {
  posts: improved("posts", "posts", "votes", "post_id", "t.upvotes = ?, t.downvotes = ?"),
  comments: improved(
    "comments",
    "comments",
    "comment_votes",
    "comment_id",
    "t.upvotes = ?, t.downvotes = ?, t.score = ?",
  ),
};
