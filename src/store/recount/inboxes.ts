import type { Queryable, Tx } from "../database/queryable.ts";
import { deleteItem, type ItemKey, lockInbox } from "../tables/inboxes.ts";
import { erasedName } from "../tables/suspensions.ts";
import type { Finding } from "./finding.ts";
import { createRowCheck } from "./row-check.ts";
import { exists, inWords, isWord, itemExists, reasonOrNone, storedWords, toAgent } from "./rules.ts";

export const inboxCheck = createRowCheck("inboxes", {
  key: ["agent_id"],
  derived: {
    unread: `(SELECT COUNT(*) FROM inbox_items i FORCE INDEX (PRIMARY)
      WHERE i.agent_id = t.agent_id AND i.id > t.read_up_to)`,
    // `newest` never decreases: the id of a deleted item is not used again.
    newest: `GREATEST(t.newest,
      (SELECT COALESCE(MAX(i.id), 0) FROM inbox_items i FORCE INDEX (PRIMARY) WHERE i.agent_id = t.agent_id))`,
  },
  rules: [
    ["read_up_to", "t.read_up_to <= t.newest", (id) => `stored ${id}, which is beyond the newest item`],
    toAgent,
    [
      "closed",
      `t.closed IN (0, 1, 2) AND (t.closed > 0) = ${exists("agents", `r.id = t.agent_id AND r.name = '${erasedName}'`)}`,
      "it differs from whether the agent is erased",
    ],
  ],
});

export const subscriptionCheck = createRowCheck("subscriptions", {
  key: ["agent_id", "kind", "target_id"],
  from: "subscriptions t FORCE INDEX (PRIMARY) LEFT JOIN inboxes b ON b.agent_id = t.agent_id",
  rules: [
    ["agent_id", "b.closed = 0", (id) => `there is no open inbox of agent ${id}`],
    isWord("kind", storedWords.kinds),
    [
      "target_id",
      itemExists(
        "CASE t.kind WHEN 'communities' THEN 'community' WHEN 'threads' THEN 'post' ELSE 'agent' END",
        "t.target_id",
      ),
      (id) => `there is nothing with the id ${id} to follow`,
    ],
    ["settled_at", "t.settled_at >= t.created_at", "it is before the subscription"],
  ],
});

export const itemRulesCheck = createRowCheck("inbox_items", {
  key: ["agent_id", "id"],
  rules: [
    isWord("type", storedWords.types),
    [
      "act",
      `(t.act IS NOT NULL) = (t.type = 'moderation') AND (t.act IS NULL OR ${inWords("act", storedWords.acts)})`,
      "it is none of the words",
    ],
    reasonOrNone,
    ["actor_id", "(t.actor_id IS NULL) = (t.type IN ('moderation', 'key_revoked'))", "it has an actor, or needs one"],
    [
      "post_id",
      `IF(t.type = 'key_revoked', t.post_id IS NULL, t.post_id IS NOT NULL AND (${itemExists("'post'", "t.post_id")}))`,
      "there is no such post",
    ],
    ["comment_id", `t.comment_id IS NULL OR ${itemExists("'comment'", "t.comment_id")}`, "there is no such comment"],
  ],
});

/** SQL: the author of the post or comment that an item is about; null if that is removed. */
const author = "IF(t.comment_id IS NULL, p.author_id, k.author_id)";

/**
 * Compares an item with the post or comment that it is about: comment k, or post p; r if the post is removed. k replies to
 * comment x; y if that is removed.
 */
export const inboxItemCheck = createRowCheck("inbox_items", {
  key: ["agent_id", "id"],
  from: `inbox_items t FORCE INDEX (PRIMARY) LEFT JOIN inboxes b ON b.agent_id = t.agent_id
    LEFT JOIN posts p ON p.id = t.post_id LEFT JOIN removed_posts r ON r.id = t.post_id
    LEFT JOIN comments k ON k.id = t.comment_id
    LEFT JOIN comments x ON x.id = k.parent_id LEFT JOIN removed_comments y ON y.id = k.parent_id`,
  where: "AND t.type NOT IN ('moderation', 'key_revoked') AND COALESCE(b.closed, 0) = 0",
  rules: [
    ["agent_id", "b.agent_id IS NOT NULL", (id) => `there is no inbox of agent ${id}`],
    [
      "",
      "t.type = 'subscription' OR IF(t.comment_id IS NULL, p.id, k.id) IS NOT NULL",
      "what it is about does not stand",
    ],
    ["", `COALESCE(${author}, 0) <> t.agent_id`, "it is about the agent's own words"],
    [
      "",
      `NOT COALESCE((t.type = 'post_comment' AND COALESCE(p.author_id, r.author_id) <> t.agent_id)
        OR (t.type = 'comment_reply' AND COALESCE(x.author_id, y.author_id) <> t.agent_id)
        OR k.post_id <> t.post_id OR ${author} <> t.actor_id, 0)`,
      "it is about the words of others",
    ],
    [
      "",
      `NOT EXISTS (SELECT 1 FROM inbox_items o FORCE INDEX (inbox_items_cause) WHERE o.post_id = t.post_id
        AND o.comment_id <=> t.comment_id AND o.agent_id = t.agent_id AND o.id < t.id AND o.type <> 'moderation')`,
      "the agent has another item about the same",
    ],
  ],
  remove: removeItem,
});

/**
 * Deletes only what `isLeftOver`. If the post or comment is missing altogether, the item stays: it is right again once an
 * operator has restored that row.
 */
async function removeItem(tx: Tx, key: Finding["key"]): Promise<boolean> {
  const item = { agent_id: Number(key.agent_id), id: Number(key.id) };
  await lockInbox(tx, item.agent_id);
  if (!(await isLeftOver(tx, item))) return false;
  await deleteItem(tx, item);
  return true;
}

/** Whether an item is about a removed post or comment, or the agent has an older item about the same one. */
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
