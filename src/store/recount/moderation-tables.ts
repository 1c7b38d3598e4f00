// Checks of the tables of reports and of moderation, and of the revisions of posts.
import { erasedName } from "../tables/suspensions.ts";
import { createRowCheck } from "./row-check.ts";
import {
  createdBefore,
  exists,
  inWords,
  isFlag,
  isWord,
  itemExists,
  reasonOrNone,
  refersTo,
  storedWords,
  toAgent,
} from "./rules.ts";

/** SQL: whether the agent that a row `t` of unfinished_removals names is erased. */
const isErased = exists("agents", `r.id = t.item_id AND r.name = '${erasedName}'`);

/** SQL: `t.version` is 0 (the text before its first edit), or a time up to the last edit. */
const isVersion = `t.version = 0 OR t.version BETWEEN 1 AND CASE t.item
  WHEN 'post' THEN COALESCE((SELECT r.edited_at FROM posts r WHERE r.id = t.item_id),
    (SELECT r.edited_at FROM removed_posts r WHERE r.id = t.item_id), 0)
  WHEN 'comment' THEN COALESCE((SELECT r.edited_at FROM comments r WHERE r.id = t.item_id),
    (SELECT r.edited_at FROM removed_comments r WHERE r.id = t.item_id), 0) ELSE 0 END`;

const isBy = (table: string) => exists(table, "r.id = t.item_id AND r.author_id = t.author_id");

export const moderationChecks = [
  createRowCheck("moderation_actors", {
    key: ["moderation_id"],
    rules: [
      toAgent,
      [
        "moderation_id",
        exists("moderations", "r.id = t.moderation_id AND r.role = 'moderator'"),
        "there is no such act of a moderator",
      ],
    ],
  }),
  createRowCheck("unfinished_removals", {
    key: ["item_id", "item"],
    rules: [
      [
        "item_id",
        `CASE t.item WHEN 'post' THEN ${exists("removed_posts", "r.id = t.item_id")}
         WHEN 'comment' THEN ${exists("removed_comments", "r.id = t.item_id")}
         WHEN 'agent' THEN ${isErased} WHEN 'author' THEN ${isErased} ELSE FALSE END`,
        "nothing with this name was removed",
      ],
      [
        "reason",
        `t.reason IS NULL OR (t.item IN ('agent', 'author') AND ${inWords("reason", storedWords.reasons)})`,
        "it is none of the words",
      ],
    ],
  }),
  createRowCheck("moderation_notes", {
    key: ["moderation_id"],
    rules: [refersTo("moderation_id", "act", "moderations")],
  }),
  createRowCheck("post_revisions", {
    key: ["id"],
    rules: [["post_id", itemExists("'post'", "t.post_id"), "there is no such post"]],
  }),
  createRowCheck("reports", {
    key: ["id"],
    rules: [
      toAgent,
      refersTo("post_id", "post", "posts", "removed_posts"),
      isWord("item", "post comment"),
      [
        "item_id",
        `IF(t.item = 'post', t.item_id = t.post_id, ${["comments", "removed_comments"]
          .map((table) => exists(table, "r.id = t.item_id AND r.post_id = t.post_id"))
          .join(" OR ")})`,
        "it is not on that post",
      ],
      [
        "community_id",
        ["posts", "removed_posts"]
          .map((table) => exists(table, "r.id = t.post_id AND r.community_id = t.community_id"))
          .join(" OR "),
        "the post is in another community",
      ],
      isWord("reason", storedWords.reasons),
      ["version", isVersion, "the text has no such version"],
      ["created_at", createdBefore("t.closed_at"), "it is after the report was closed"],
      ["is_open", "t.is_open = (t.closed_at IS NULL)", "it differs from whether there is a time when it was closed"],
    ],
  }),
  createRowCheck("reported_texts", {
    key: ["item_id", "item", "version"],
    rules: [
      isWord("item", "post comment"),
      [
        "author_id",
        `IF(t.item = 'post', ${isBy("posts")} OR ${isBy("removed_posts")}, ${isBy("comments")} OR ${isBy("removed_comments")})`,
        "the agent has not written this",
      ],
      ["version", isVersion, "the text has no such version"],
      ["title", "t.item = 'post' OR t.title = ''", "a comment has no title"],
    ],
  }),
  createRowCheck("moderations", {
    key: ["id"],
    rules: [
      isWord("role", "moderator operator"),
      isWord("act", storedWords.acts),
      isWord("item", storedWords.items),
      ["item_id", itemExists("t.item", "t.item_id"), "there is no such item"],
      reasonOrNone,
      // The log writes years of four digits.
      ["created_at", "t.created_at BETWEEN 0 AND 253402300799999", "it is no time"],
      isFlag("noted"),
    ],
  }),
];
