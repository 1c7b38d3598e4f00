import type { Queryable } from "../database/queryable.ts";
import { type CommentRow, selectComment } from "./comments.ts";
import type { RemovalColumns } from "./removed-posts.ts";

/*
 * The ids of a page are read from an index that is already in order, as for feeds, and then the wide rows of these ids only.
 * Otherwise the engines would read and sort all comments of the post.
 */

/** The order of a post's comments: the oldest first, the newest first, or by score and then the newest first. */
export type CommentSort = "old" | "new" | "top";

/** The sort values of a comment: `score` and `id` for top, else `id`. */
export interface CommentPosition {
  score: number;
  id: number;
}

/** The counters of a post, read by the same statement as its comments, so that they agree. */
export interface PostCounters {
  upvotes: number;
  downvotes: number;
  comment_count: number;
}

interface Order {
  index: "post" | "top";
  orderBy: string;
  /** The condition for "after this position", as ranges of the index. */
  behind: string;
  values(position: CommentPosition): number[];
  compare(a: CommentRow, b: CommentRow): number;
  /** The position before the first comment. */
  start: CommentPosition;
}

const max = Number.MAX_SAFE_INTEGER;

// Ids are assigned under the lock of the post, so comments were accepted in the order of their ids.
const orders: Record<CommentSort, Order> = {
  old: {
    index: "post",
    orderBy: "id",
    behind: "id > ?",
    values: ({ id }) => [id],
    compare: (a, b) => a.id - b.id,
    start: { score: 0, id: 0 },
  },
  new: {
    index: "post",
    orderBy: "id DESC",
    behind: "id < ?",
    values: ({ id }) => [id],
    compare: (a, b) => b.id - a.id,
    start: { score: 0, id: max },
  },
  top: {
    index: "top",
    orderBy: "score DESC, id DESC",
    behind: "(score < ? OR (score = ? AND id < ?))",
    values: ({ score, id }) => [score, score, id],
    compare: (a, b) => scoreOf(b) - scoreOf(a) || b.id - a.id,
    start: { score: max, id: max },
  },
};

/** The position of a comment in the orders. */
export function positionOf(row: CommentRow): CommentPosition {
  return { score: scoreOf(row), id: row.id };
}

/** Which comments of a post to list. */
export interface CommentRange {
  sort: CommentSort;
  /** Undefined for the first comments. */
  after: CommentPosition | undefined;
  limit: number;
}

type ListedRow = { post_upvotes: number; post_downvotes: number; comment_count: number } & (
  | (CommentRow & RemovalColumns)
  | { id: null }
);

/**
 * Comments of a post in an order, with the post's counters at the same moment. Removed comments keep their place. Undefined
 * when there is no such post.
 * @param table where the post is: `removed_posts` if it is removed
 */
export async function listComments(
  db: Queryable,
  postId: number,
  { sort, after, limit }: CommentRange,
  table: "posts" | "removed_posts" = "posts",
): Promise<{ post: PostCounters; comments: CommentRow[] } | undefined> {
  const order = orders[sort];
  const part = [postId, ...order.values(after ?? order.start), String(limit)];
  const rows = await db.rows<ListedRow>(statements[sort][table], [...part, ...part, String(limit), postId]);
  const [first] = rows;
  if (first === undefined) return undefined;
  const { post_upvotes: upvotes, post_downvotes: downvotes, comment_count } = first;
  // MariaDB would sort these few rows in a temporary table on the disk, because they hold texts.
  const comments = first.id === null ? [] : (rows as CommentRow[]).sort(order.compare);
  return { post: { upvotes, downvotes, comment_count }, comments };
}

/** What is shown of a comment that stands (`c`, by the author `a`) or is removed (`r`). */
const shownColumns = `COALESCE(c.parent_id, r.parent_id) AS parent_id, COALESCE(c.body, '') AS body, a.name AS author,
      a.resident AS author_resident, COALESCE(c.upvotes, r.upvotes) AS upvotes, COALESCE(c.downvotes, r.downvotes) AS downvotes,
      COALESCE(c.created_at, r.created_at) AS created_at, COALESCE(c.edited_at, r.edited_at) AS edited_at, r.removed_by,
      r.reason, r.removed_at`;
const joinComments = `LEFT JOIN comments c ON page.removed = 0 AND c.id = page.id
     LEFT JOIN removed_comments r ON page.removed = 1 AND r.id = page.id
     LEFT JOIN agents a ON a.id = c.author_id`;

// A fixed set, so that they can stay prepared.
const statements = {
  old: statementsOf(orders.old),
  new: statementsOf(orders.new),
  top: statementsOf(orders.top),
};

function statementsOf(order: Order) {
  return { posts: statement(order, "posts"), removed_posts: statement(order, "removed_posts") };
}

function statement({ index, orderBy, behind }: Order, table: "posts" | "removed_posts"): string {
  const part = (comments: "comments" | "removed_comments") =>
    `(SELECT id, score, ${Number(comments === "removed_comments")} AS removed FROM ${comments} FORCE INDEX (${comments}_${index})
       WHERE post_id = ? AND ${behind} ORDER BY ${orderBy} LIMIT ?)`;
  return `SELECT STRAIGHT_JOIN p.upvotes AS post_upvotes, p.downvotes AS post_downvotes, p.comment_count, page.id, p.id AS post_id,
      ${shownColumns}
     FROM ${table} p
     LEFT JOIN (
      ${part("comments")}
      UNION ALL
      ${part("removed_comments")}
      ORDER BY ${orderBy} LIMIT ?
     ) page ON TRUE
     ${joinComments}
     WHERE p.id = ?`;
}

const selectReplies = `SELECT STRAIGHT_JOIN page.id, COALESCE(c.post_id, r.post_id) AS post_id, ${shownColumns}
     FROM (
      (SELECT id, 0 AS removed FROM comments FORCE INDEX (comments_parent) WHERE parent_id = ? AND id > ? ORDER BY id LIMIT ?)
      UNION ALL
      (SELECT id, 1 FROM removed_comments FORCE INDEX (removed_comments_parent)
       WHERE parent_id = ? AND id > ? ORDER BY id LIMIT ?)
      ORDER BY id LIMIT ?
     ) page ${joinComments}`;

/** The replies to a comment after the comment `after`, oldest first. Removed replies keep their place. */
export async function listReplies(db: Queryable, id: number, after: number, limit: number): Promise<CommentRow[]> {
  const part = [id, after, String(limit)];
  const rows = await db.rows<CommentRow>(selectReplies, [...part, ...part, String(limit)]);
  return rows.sort(orders.old.compare);
}

/** The comments of an agent that stand, before the comment `before`, the newest first. */
export function listCommentsByAuthor(
  db: Queryable,
  authorId: number,
  before: number,
  limit: number,
): Promise<CommentRow[]> {
  return db.rows<CommentRow>(
    `${selectComment} FROM (
      SELECT id FROM comments FORCE INDEX (comments_author) WHERE author_id = ? AND id < ? ORDER BY id DESC LIMIT ?
    ) page JOIN comments c ON c.id = page.id JOIN agents a ON a.id = c.author_id ORDER BY page.id DESC`,
    [authorId, before, String(limit)],
  );
}

function scoreOf({ upvotes, downvotes }: CommentRow): number {
  return upvotes - downvotes;
}
