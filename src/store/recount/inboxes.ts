import type { Queryable } from "../database/queryable.ts";
import { deleteItem, type ItemKey, lockInbox } from "../tables/inboxes.ts";
import { compare, limitRows, refuse, type TableCheck } from "./finding.ts";

interface Row {
  agent_id: number;
  newest: number;
  read_up_to: number;
  unread: number;
  counted: number;
  highest: number;
  agent: number | null;
}

const sql = `SELECT b.agent_id, b.newest, b.read_up_to, b.unread, a.id AS agent,
    (SELECT COUNT(*) FROM inbox_items t FORCE INDEX (PRIMARY) WHERE t.agent_id = b.agent_id AND t.id > b.read_up_to) AS counted,
    (SELECT COALESCE(MAX(t.id), 0) FROM inbox_items t FORCE INDEX (PRIMARY) WHERE t.agent_id = b.agent_id) AS highest
  FROM inboxes b FORCE INDEX (PRIMARY) LEFT JOIN agents a ON a.id = b.agent_id
  WHERE b.agent_id > ? AND b.agent_id <= ?
  HAVING unread <> counted OR newest < highest OR read_up_to > newest OR agent IS NULL
  ${limitRows}`;

export const inboxCheck: TableCheck = {
  table: "inboxes",
  key: "agent_id",
  derived: ["unread", "newest"],
  async find(db, { after, to }) {
    const rows = await db.rows<Row>(sql, [after, to]);
    return rows.flatMap(({ agent_id, newest, read_up_to, unread, counted, highest, agent }) => {
      const key = { agent_id };
      return [
        ...compare("inboxes.unread", key, unread, counted),
        // The newest item may be gone. Its id is not used again.
        ...(newest < highest ? compare("inboxes.newest", key, newest, highest) : []),
        ...refuse(read_up_to > newest, "inboxes.read_up_to", key, `stored ${read_up_to}, the newest item is ${newest}`),
        ...refuse(agent === null, "inboxes.agent_id", key, `there is no agent ${agent_id}`),
      ];
    });
  },
};

interface ItemRow {
  agent_id: number;
  id: number;
  inbox: number | null;
  words: number | null;
  is_own: number;
  is_misplaced: number;
  is_doubled: number;
}

// The comment k, its post p or r, and its parent x or y.
const itemsSql = `SELECT t.agent_id, t.id, b.agent_id AS inbox, IF(t.comment_id IS NULL, p.id, k.id) AS words,
    t.agent_id = COALESCE(IF(t.comment_id IS NULL, p.author_id, k.author_id), 0) AS is_own,
    COALESCE((t.type = 'post_comment' AND COALESCE(p.author_id, r.author_id) <> t.agent_id)
      OR (t.type = 'comment_reply' AND COALESCE(x.author_id, y.author_id) <> t.agent_id)
      OR k.post_id <> t.post_id OR IF(t.comment_id IS NULL, p.author_id, k.author_id) <> t.actor_id, 0) AS is_misplaced,
    EXISTS (SELECT 1 FROM inbox_items o FORCE INDEX (inbox_items_cause) WHERE o.post_id = t.post_id
      AND o.comment_id <=> t.comment_id AND o.agent_id = t.agent_id AND o.id < t.id AND o.type <> 'moderation') AS is_doubled
  FROM inbox_items t FORCE INDEX (PRIMARY) LEFT JOIN inboxes b ON b.agent_id = t.agent_id
  LEFT JOIN posts p ON p.id = t.post_id LEFT JOIN removed_posts r ON r.id = t.post_id
  LEFT JOIN comments k ON k.id = t.comment_id
  LEFT JOIN comments x ON x.id = k.parent_id LEFT JOIN removed_comments y ON y.id = k.parent_id
  WHERE t.agent_id > ? AND t.agent_id <= ? AND t.type <> 'moderation' AND COALESCE(b.closed, 0) = 0
  HAVING inbox IS NULL OR words IS NULL OR is_own = 1 OR is_misplaced = 1 OR is_doubled = 1
  ${limitRows}`;

/** An item follows from the words that it is about. Versions of Stoa that know no items may have removed those. */
export const inboxItemCheck: TableCheck = {
  table: "inbox_items",
  key: "agent_id",
  derived: [],
  async find(db, { after, to }) {
    const rows = await db.rows<ItemRow>(itemsSql, [after, to]);
    return rows.flatMap(({ agent_id, id, inbox, words, is_own, is_misplaced, is_doubled }) => {
      const key = { agent_id, id };
      return [
        ...refuse(inbox === null, "inbox_items.agent_id", key, `there is no inbox of agent ${agent_id}`),
        ...refuse(words === null, "inbox_items", key, "what it is about does not stand"),
        ...refuse(is_own === 1, "inbox_items", key, "it is about the agent's own words"),
        ...refuse(is_misplaced === 1, "inbox_items", key, "it is about the words of others"),
        ...refuse(is_doubled === 1, "inbox_items", key, "the agent has another item about the same"),
      ];
    });
  },
  // What is missing altogether may be found again, and its items then are right.
  async remove(tx, key) {
    const item = { agent_id: Number(key.agent_id), id: Number(key.id) };
    await lockInbox(tx, item.agent_id);
    if (!(await isLeftOver(tx, item))) return false;
    await deleteItem(tx, item);
    return true;
  },
};

/** Whether an item is about a post or comment that is removed, or the agent has an older one about the same. */
async function isLeftOver(db: Queryable, { agent_id, id }: ItemKey): Promise<boolean> {
  const rows = await db.rows<{ removed: number | null; older: number | null }>(
    `SELECT IF(t.comment_id IS NULL, r.id, d.id) AS removed, (
       SELECT MIN(o.id) FROM inbox_items o FORCE INDEX (inbox_items_cause) WHERE o.post_id = t.post_id
         AND o.comment_id <=> t.comment_id AND o.agent_id = t.agent_id AND o.id < t.id AND o.type <> 'moderation') AS older
     FROM inbox_items t
     LEFT JOIN removed_posts r ON r.id = t.post_id LEFT JOIN removed_comments d ON d.id = t.comment_id
     WHERE t.agent_id = ? AND t.id = ? AND t.type <> 'moderation'`,
    [agent_id, id],
  );
  return typeof rows[0]?.removed === "number" || typeof rows[0]?.older === "number";
}
