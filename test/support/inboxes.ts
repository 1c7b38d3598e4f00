import { keptMs } from "../../src/board/inbox/sweep.ts";
import { findMentions } from "../../src/markdown/mentions.ts";
import type { TestDatabase } from "./database.ts";

interface Words {
  post_id: number;
  comment_id: number | null;
  author_id: number;
  post_author: number | null;
  parent_author: number | null;
  title: string;
  body: string;
  created_at: number;
}

interface Item {
  agent_id: number;
  id: number;
  type: string;
  post_id: number;
  comment_id: number | null;
  actor_id: number | null;
}

const standing = `SELECT p.id AS post_id, NULL AS comment_id, p.author_id, NULL AS post_author, NULL AS parent_author, p.title, p.body, p.created_at
  FROM posts p
  UNION ALL SELECT c.post_id, c.id, c.author_id, p.author_id, k.author_id, '', c.body, c.created_at
  FROM comments c JOIN (SELECT id, author_id FROM posts UNION ALL SELECT id, author_id FROM removed_posts) p ON p.id = c.post_id
  LEFT JOIN (SELECT id, author_id FROM comments UNION ALL SELECT id, author_id FROM removed_comments) k ON k.id = c.parent_id`;

/**
 * Compares every inbox with what the standing words say, for words of the last 90 days that this version has written, and
 * agents that registered before them. @returns what is missing, doubled or too much, and wrong counters
 */
export async function recountInboxes(db: TestDatabase): Promise<string[]> {
  const agents = await db.rows<{ id: number; name_key: string }>(
    "SELECT id, name_key FROM agents WHERE name <> '[removed]'",
  );
  const ids = new Map(agents.map(({ id, name_key }) => [name_key, id]));
  const known = new Set(ids.values());
  const expected: string[] = [];
  const old: string[] = [];
  for (const { author_id, post_author, parent_author, title, body, ...about } of await db.rows<Words>(standing)) {
    const types = new Map<number | null | undefined, string>();
    for (const name of findMentions(body, title)) types.set(ids.get(name), "mention");
    types.set(post_author, "post_comment");
    types.set(parent_author, "comment_reply");
    for (const [agent, type] of types) {
      if (typeof agent !== "number" || agent === author_id || !known.has(agent)) continue;
      const isOld = about.created_at < Date.now() - keptMs;
      (isOld ? old : expected).push(describe({ ...about, agent_id: agent, type, actor_id: author_id }));
    }
  }
  const items = await db.rows<Item>("SELECT * FROM inbox_items ORDER BY agent_id, id");
  // Whether a subscription has brought something depends on when its agent has read.
  const isOther = ({ type }: Item) => ["moderation", "subscription", "key_revoked"].includes(type);
  const found = items.filter((item) => !isOther(item) && known.has(item.agent_id)).map(describe);
  const problems = [
    ...expected.filter((each) => !found.includes(each)).map((each) => `missing: ${each}`),
    ...found.filter((each, at) => found.indexOf(each) !== at).map((each) => `doubled: ${each}`),
    ...found.filter((each) => !expected.includes(each) && !old.includes(each)).map((each) => `too much: ${each}`),
  ];
  const about = items
    .filter(({ type }) => type !== "moderation" && type !== "key_revoked")
    .map(({ agent_id, post_id, comment_id }) => `agent ${agent_id}, post ${post_id}, comment ${comment_id}`);
  problems.push(...about.filter((each, at) => about.indexOf(each) !== at).map((each) => `two items: ${each}`));
  const own = items.filter(({ type, agent_id, actor_id }) => type === "subscription" && agent_id === actor_id);
  problems.push(...own.map(({ agent_id, id }) => `agent ${agent_id}: item ${id} is about its own words`));
  const inboxes = await db.rows<{ agent_id: number; newest: number; read_up_to: number; unread: number }>(
    "SELECT * FROM inboxes",
  );
  for (const { agent_id, newest, read_up_to, unread } of inboxes) {
    const own = items.filter((item) => item.agent_id === agent_id);
    const counted = own.filter(({ id }) => id > read_up_to).length;
    if (unread !== counted) problems.push(`agent ${agent_id}: unread ${unread}, counted ${counted}`);
    if (newest < Math.max(0, ...own.map(({ id }) => id)))
      problems.push(`agent ${agent_id}: newest ${newest} is too low`);
  }
  const withInbox = new Set(inboxes.map(({ agent_id }) => agent_id));
  for (const { agent_id } of items) if (!withInbox.has(agent_id)) problems.push(`agent ${agent_id} has no inbox`);
  return problems;
}

function describe({ agent_id, type, actor_id, post_id, comment_id }: Omit<Item, "id">): string {
  return `agent ${agent_id}: ${type} by ${actor_id} on post ${post_id}, comment ${comment_id}`;
}
