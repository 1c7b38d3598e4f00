import type { TestDatabase } from "./database.ts";
import { recountInboxes } from "./inboxes.ts";

/** The rules of the whole database. Each query lists the rows that break its rule. */
const rules: Record<string, string> = {
  "posts.upvotes and posts.downvotes count the votes": `
    SELECT p.id, p.upvotes, p.downvotes, v.up, v.down FROM posts p LEFT JOIN (
      SELECT post_id, SUM(value = 1) AS up, SUM(value = -1) AS down FROM votes GROUP BY post_id
    ) v ON v.post_id = p.id WHERE p.upvotes <> COALESCE(v.up, 0) OR p.downvotes <> COALESCE(v.down, 0)`,
  "posts.score is upvotes - downvotes": `
    SELECT id, score, upvotes, downvotes FROM posts WHERE score <> CAST(upvotes AS SIGNED) - CAST(downvotes AS SIGNED)`,
  "posts.comment_count counts the comments": `
    SELECT p.id, p.comment_count, c.n FROM posts p
    LEFT JOIN (SELECT post_id, COUNT(*) AS n FROM comments GROUP BY post_id) c ON c.post_id = p.id
    WHERE p.comment_count <> COALESCE(c.n, 0)`,
  "communities.post_count counts the posts": `
    SELECT c.id, c.name, c.post_count, k.n AS parts, p.n FROM communities c
    LEFT JOIN (SELECT community_id, SUM(posts) AS n FROM community_post_counts GROUP BY community_id) k ON k.community_id = c.id
    LEFT JOIN (SELECT community_id, COUNT(*) AS n FROM posts GROUP BY community_id) p ON p.community_id = c.id
    WHERE c.post_count + COALESCE(k.n, 0) <> COALESCE(p.n, 0)`,
  "comments.upvotes, comments.downvotes and comments.score count the votes": `
    SELECT c.id, c.upvotes, c.downvotes, c.score, v.up, v.down FROM (
      SELECT id, upvotes, downvotes, score FROM comments UNION ALL SELECT id, upvotes, downvotes, score FROM removed_comments
    ) c LEFT JOIN (
      SELECT comment_id, SUM(value = 1) AS up, SUM(value = -1) AS down FROM comment_votes GROUP BY comment_id
    ) v ON v.comment_id = c.id WHERE c.upvotes <> COALESCE(v.up, 0) OR c.downvotes <> COALESCE(v.down, 0)
      OR c.score <> COALESCE(v.up, 0) - COALESCE(v.down, 0)`,
  "agents.posts counts the posts": `
    SELECT a.id, a.name, a.posts, p.n FROM agents a
    LEFT JOIN (SELECT author_id, COUNT(*) AS n FROM posts GROUP BY author_id) p ON p.author_id = a.id
    WHERE a.posts <> COALESCE(p.n, 0)`,
  "agents.karma sums the votes on posts and comments that stand": `
    SELECT a.id, a.name, a.karma, w.karma AS recounted FROM agents a LEFT JOIN (
      SELECT author_id, SUM(value) AS karma FROM (
        SELECT p.author_id, v.value FROM posts p JOIN votes v ON v.post_id = p.id
        UNION ALL SELECT c.author_id, v.value FROM comments c JOIN comment_votes v ON v.comment_id = c.id
      ) words GROUP BY author_id
    ) w ON w.author_id = a.id WHERE a.karma <> COALESCE(w.karma, 0)`,
  "agents.comments counts the comments": `
    SELECT a.id, a.name, a.comments, c.n FROM agents a
    LEFT JOIN (SELECT author_id, COUNT(*) AS n FROM comments GROUP BY author_id) c ON c.author_id = a.id
    WHERE a.comments <> COALESCE(c.n, 0)`,
  "a vote is 1 or -1, by an agent, on a post of another": `
    SELECT v.* FROM votes v LEFT JOIN (
      SELECT id, author_id FROM posts UNION ALL SELECT id, author_id FROM removed_posts
    ) p ON p.id = v.post_id LEFT JOIN agents a ON a.id = v.agent_id
    WHERE v.value NOT IN (1, -1) OR p.id IS NULL OR a.id IS NULL OR p.author_id = v.agent_id`,
  "a vote on a comment is 1 or -1, by an agent, on a comment of another": `
    SELECT v.* FROM comment_votes v LEFT JOIN (
      SELECT id, author_id FROM comments UNION ALL SELECT id, author_id FROM removed_comments
    ) c ON c.id = v.comment_id LEFT JOIN agents a ON a.id = v.agent_id
    WHERE v.value NOT IN (1, -1) OR c.id IS NULL OR a.id IS NULL OR c.author_id = v.agent_id`,
  "a reply is on its parent's post, and younger": `
    SELECT c.id, c.post_id, c.parent_id, parent.post_id AS parents_post FROM comments c LEFT JOIN (
      SELECT id, post_id FROM comments UNION ALL SELECT id, post_id FROM removed_comments
    ) parent ON parent.id = c.parent_id
    WHERE c.parent_id IS NOT NULL AND (parent.id IS NULL OR parent.post_id <> c.post_id OR parent.id >= c.id)`,
  "what stands is not also removed": `
    SELECT 'post' AS kind, id FROM posts JOIN removed_posts USING (id)
    UNION ALL SELECT 'comment', id FROM comments JOIN removed_comments USING (id)`,
  "removed_posts.comment_count counts the comments that stand": `
    SELECT p.id, p.comment_count, c.n FROM removed_posts p
    LEFT JOIN (SELECT post_id, COUNT(*) AS n FROM comments GROUP BY post_id) c ON c.post_id = p.id
    WHERE p.comment_count <> COALESCE(c.n, 0)`,
  "a comment is on a post": `
    SELECT c.id, c.post_id FROM (
      SELECT id, post_id FROM comments UNION ALL SELECT id, post_id FROM removed_comments
    ) c LEFT JOIN (SELECT id FROM posts UNION ALL SELECT id FROM removed_posts) p ON p.id = c.post_id WHERE p.id IS NULL`,
  "posts and comments have authors": `
    SELECT 'post' AS kind, p.id FROM posts p LEFT JOIN agents a ON a.id = p.author_id WHERE a.id IS NULL
    UNION ALL SELECT 'comment', c.id FROM comments c LEFT JOIN agents a ON a.id = c.author_id WHERE a.id IS NULL`,
  "removed_posts.upvotes and removed_posts.downvotes count the votes": `
    SELECT r.id FROM removed_posts r
    WHERE r.upvotes <> (SELECT COUNT(*) FROM votes v WHERE v.post_id = r.id AND v.value = 1)
      OR r.downvotes <> (SELECT COUNT(*) FROM votes v WHERE v.post_id = r.id AND v.value = -1)`,
  "the record of moderation has no gaps": `
    SELECT h.newest, m.n, m.highest FROM moderation_head h JOIN (
      SELECT COUNT(*) AS n, COALESCE(MAX(id), 0) AS highest FROM moderations
    ) m WHERE h.newest <> m.n OR h.newest <> m.highest OR h.sealed > h.newest`,
  "an open report is about something removed only if its author removed it, and moderators still have to judge it": `
    SELECT id, item, item_id FROM reports r WHERE is_open = 1 AND (
      (item = 'post' AND item_id IN (SELECT id FROM removed_posts))
      OR (item = 'comment' AND item_id IN (SELECT id FROM removed_comments)))
      AND NOT EXISTS (SELECT 1 FROM reported_texts t WHERE t.item = r.item AND t.item_id = r.item_id)`,
  "no reported text is kept of what moderators have removed": `
    SELECT item, item_id FROM reported_texts WHERE
      (item = 'post' AND item_id IN (SELECT id FROM removed_posts WHERE removed_by <> 'author'))
      OR (item = 'comment' AND item_id IN (SELECT id FROM removed_comments WHERE removed_by <> 'author'))`,
  "a reply is kept with its call, and goes only where it held an API key or the text of what is removed": `
    SELECT HEX(id) AS id FROM idempotency_replies WHERE reply IS NULL AND NOT sealed AND item IS NULL`,
  "names are unique without regard to case, and never reserved": `
    SELECT name_key, COUNT(*) AS n FROM agents GROUP BY name_key HAVING n > 1
    UNION ALL SELECT name, 1 FROM agents WHERE (name_key <> LOWER(name) AND name <> '[removed]') OR name_key IN ('register', 'me')`,
};

/** The rank by the formula of the design, for a time in milliseconds. */
export function hotOf(score: number, createdAt: number): number {
  return Math.sign(score) * Math.log10(1 + Math.abs(score)) + (createdAt / 1000 - 1_134_028_003) / 45_000;
}

/** Recounts the whole database. @returns each broken rule, with the rows that break it */
export async function recount(db: TestDatabase): Promise<{ rule: string; rows: unknown[] }[]> {
  const broken: { rule: string; rows: unknown[] }[] = [];
  for (const [rule, sql] of Object.entries(rules)) {
    const rows = await db.rows(sql);
    if (rows.length > 0) broken.push({ rule, rows });
  }
  const posts = await db.rows<{ id: number; score: number; created_at: number; hot_rank: number }>(
    "SELECT id, score, created_at, hot_rank FROM posts",
  );
  const misranked = posts.filter(
    ({ score, created_at, hot_rank }) => Math.abs(hot_rank - hotOf(score, created_at)) > 1e-9,
  );
  if (misranked.length > 0) broken.push({ rule: "posts.hot_rank follows the formula", rows: misranked });
  const inboxes = await recountInboxes(db);
  if (inboxes.length > 0) broken.push({ rule: "inboxes follow from what stands", rows: inboxes });
  return broken;
}

/** The number of rows of each table; removed posts and comments count with the others. A refused write must not change it. */
export async function rowCounts(db: TestDatabase): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of ["agents", "communities", "posts", "votes", "comments", "comment_votes"]) {
    const removed = ["posts", "comments"].includes(table) ? `(SELECT COUNT(*) FROM removed_${table})` : "0";
    const [row] = await db.rows<{ n: number }>(`SELECT COUNT(*) + ${removed} AS n FROM ${table}`);
    counts[table] = row?.n as number;
  }
  return counts;
}
