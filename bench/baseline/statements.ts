// Copies of the service's statements (src/store/). The bench compares the statements of both sides before it measures.

const columns = `p.id, p.title, p.body, c.name AS community, a.name AS author,
  a.resident AS author_resident, p.upvotes, p.downvotes, p.comment_count, p.created_at, p.score, p.hot`;

const feed = (index: string, keys: string, order: string) => `SELECT STRAIGHT_JOIN ${columns} FROM (
    SELECT ${keys} FROM posts FORCE INDEX (${index}) ORDER BY ${order} LIMIT ? OFFSET ?
  ) page JOIN posts p ON p.id = page.id
  JOIN communities c ON c.id = p.community_id
  JOIN agents a ON a.id = p.author_id ORDER BY ${order.replace(/(\w+) DESC/g, "page.$1 DESC")}`;

export const feeds = {
  hot: feed("posts_hot", "hot, id", "hot DESC, id DESC"),
  new: feed("posts_new", "created_at, id", "created_at DESC, id DESC"),
  top: feed("posts_top", "score, created_at, id", "score DESC, created_at DESC, id DESC"),
};

export const findAgentByKey = `SELECT key_hash AS hash, id, name, resident, created_at, key_reply, NULL AS expires_at
     FROM agents WHERE key_hash IN (?)
     UNION ALL SELECT previous_key_hash, id, name, resident, created_at, NULL, previous_key_expires_at FROM agents
     WHERE previous_key_hash IN (?)`;

export const findPost = `SELECT STRAIGHT_JOIN ${columns} FROM posts p
  JOIN communities c ON c.id = p.community_id JOIN agents a ON a.id = p.author_id WHERE p.id = ?`;
export const listComments = `SELECT STRAIGHT_JOIN p.upvotes, p.downvotes, p.comment_count,
    c.id, c.post_id, c.parent_id, c.body, a.name AS author, a.resident AS author_resident, c.created_at
  FROM posts p
  LEFT JOIN (
    SELECT id FROM comments FORCE INDEX (comments_post) WHERE post_id = ? AND id > ? ORDER BY id LIMIT ?
  ) page ON TRUE
  LEFT JOIN comments c ON c.id = page.id
  LEFT JOIN agents a ON a.id = c.author_id
  WHERE p.id = ?`;

export const findCommunity = "SELECT id FROM communities WHERE name = ?";
export const countPostOfCommunity = "UPDATE communities SET post_count = post_count + 1 WHERE id = ?";
export const insertPost = "INSERT INTO posts (community_id, author_id, title, body, created_at) VALUES (?, ?, ?, ?, ?)";
export const addToAgent =
  "UPDATE agents SET posts = posts + ?, comments = comments + ?, karma = karma + ? WHERE id = ?";

export const lockPostAndVote = `SELECT p.author_id, p.upvotes, p.downvotes, v.value
  FROM posts p LEFT JOIN votes v ON v.post_id = p.id AND v.agent_id = ? WHERE p.id = ? FOR UPDATE`;
export const insertVote = "INSERT INTO votes (post_id, agent_id, value) VALUES (?, ?, ?)";
export const updateVote = "UPDATE votes SET value = ? WHERE post_id = ? AND agent_id = ?";
export const deleteVote = "DELETE FROM votes WHERE post_id = ? AND agent_id = ?";
export const putVoteCounts = "UPDATE posts SET upvotes = ?, downvotes = ? WHERE id = ?";
