// Copies of the service's statements (src/store/). The bench compares the statements of both sides before it measures.

const columns = `p.id, p.title, p.body, c.name AS community, a.name AS author,
  a.resident AS author_resident, p.upvotes, p.downvotes, p.comment_count, p.created_at, p.edited_at, p.locked, p.hot_rank`;

const feed = (index: string, keys: string, order: string) => `SELECT STRAIGHT_JOIN ${columns} FROM (
    SELECT ${keys} FROM posts FORCE INDEX (${index}) ORDER BY ${order} LIMIT ? OFFSET ?
  ) page JOIN posts p ON p.id = page.id
  JOIN communities c ON c.id = p.community_id
  JOIN agents a ON a.id = p.author_id ORDER BY ${order.replace(/(\w+) DESC/g, "page.$1 DESC")}`;

export const feeds = {
  hot: feed("posts_hot_rank", "hot_rank, id", "hot_rank DESC, id DESC"),
  new: feed("posts_new", "created_at, id", "created_at DESC, id DESC"),
  top: feed("posts_top", "score, created_at, id", "score DESC, created_at DESC, id DESC"),
};

export const findAgentByKey = `SELECT key_hash AS hash, id, name, resident, created_at, key_reply, lapses_at, NULL AS expires_at
     FROM agents WHERE key_hash IN (?)
     UNION ALL SELECT previous_key_hash, id, name, resident, created_at, NULL, NULL, previous_key_expires_at FROM agents
     WHERE previous_key_hash IN (?)`;

export const findPost = `SELECT STRAIGHT_JOIN ${columns} FROM posts p
  JOIN communities c ON c.id = p.community_id JOIN agents a ON a.id = p.author_id WHERE p.id = ?`;
const part = (table: string, removed: number) =>
  `(SELECT id, score, created_at, ${removed} AS removed FROM ${table} FORCE INDEX (${table}_time)
       WHERE post_id = ? AND (created_at > ? OR (created_at = ? AND id > ?)) ORDER BY created_at, id LIMIT ?)`;
export const listComments = `SELECT STRAIGHT_JOIN p.upvotes AS post_upvotes, p.downvotes AS post_downvotes, p.comment_count,
    page.id, p.id AS post_id, COALESCE(c.parent_id, r.parent_id) AS parent_id, COALESCE(c.body, '') AS body, a.name AS author,
    a.resident AS author_resident, COALESCE(c.upvotes, r.upvotes) AS upvotes, COALESCE(c.downvotes, r.downvotes) AS downvotes,
    COALESCE(c.created_at, r.created_at) AS created_at, COALESCE(c.edited_at, r.edited_at) AS edited_at, r.removed_by,
    r.reason, r.removed_at
  FROM posts p
  LEFT JOIN ( ${part("comments", 0)} UNION ALL ${part("removed_comments", 1)} ORDER BY created_at, id LIMIT ? ) page ON TRUE
  LEFT JOIN comments c ON page.removed = 0 AND c.id = page.id
  LEFT JOIN removed_comments r ON page.removed = 1 AND r.id = page.id
  LEFT JOIN agents a ON a.id = c.author_id
  WHERE p.id = ?`;

export const countPostOfCommunity =
  "UPDATE communities SET post_count = post_count + 1 WHERE name = ? AND LAST_INSERT_ID(id)";
export const insertPost = "INSERT INTO posts (community_id, author_id, title, body, created_at) VALUES (?, ?, ?, ?, ?)";
export const insertTokens =
  "INSERT INTO search_posts (id, community_id, author_id, text_version, tokens) VALUES (?, ?, ?, 0, ?)";
export const addToAgent = "UPDATE agents SET comments = comments + ?, karma = karma + ? WHERE id = ?";

export const countPostOfWriter = "UPDATE agents SET posts = posts + 1 WHERE id = ? AND suspended = 0";

const votesOn = (things: string, votes: string, key: string, counts: string) => ({
  lock: `SELECT t.author_id, t.upvotes, t.downvotes, v.value
     FROM ${things} t LEFT JOIN ${votes} v ON v.${key} = t.id AND v.agent_id = ? WHERE t.id = ? FOR UPDATE`,
  insert: `INSERT INTO ${votes} (${key}, agent_id, value) VALUES (?, ?, ?)`,
  update: `UPDATE ${votes} SET value = ? WHERE ${key} = ? AND agent_id = ?`,
  delete: `DELETE FROM ${votes} WHERE ${key} = ? AND agent_id = ?`,
  putCounts: `UPDATE ${things} SET ${counts} WHERE id = ?`,
});
export const votes = {
  posts: votesOn("posts", "votes", "post_id", "upvotes = ?, downvotes = ?"),
  comments: votesOn("comments", "comment_votes", "comment_id", "upvotes = ?, downvotes = ?, score = ?"),
};

export const listInbox = `SELECT STRAIGHT_JOIN page.id, page.type, page.post_id, page.comment_id, a.name AS actor,
    COALESCE(c.name, d.name) AS community,
    IF(page.comment_id IS NULL, COALESCE(NULLIF(LEFT(p.body, 600), ''), p.title), LEFT(k.body, 600)) AS body,
    page.act, page.reason, page.created_at, page.id <= b.read_up_to AS is_read,
    EXISTS (SELECT 1 FROM subscriptions s WHERE s.agent_id = page.agent_id) AS follows
  FROM (SELECT agent_id, id, type, post_id, comment_id, actor_id, act, reason, created_at
    FROM inbox_items FORCE INDEX (PRIMARY) WHERE agent_id = ? AND id < ? ORDER BY id DESC LIMIT ?) page
  JOIN inboxes b FORCE INDEX (PRIMARY) ON b.agent_id = page.agent_id
  LEFT JOIN posts p ON p.id = page.post_id LEFT JOIN communities c ON c.id = p.community_id
  LEFT JOIN removed_posts r ON p.id IS NULL AND r.id = page.post_id LEFT JOIN communities d ON d.id = r.community_id
  LEFT JOIN comments k ON k.id = page.comment_id
  LEFT JOIN agents a ON a.id = page.actor_id`;
