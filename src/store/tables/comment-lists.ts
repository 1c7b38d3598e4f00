import type { Queryable } from "../database/queryable.ts";
import { type CommentRow, selectComment } from "./comments.ts";
import type { PostView, RemovalColumns } from "./removed-posts.ts";
import { newestFirst, oldestFirst, type TimePosition } from "./time-order.ts";

/*
 * The ids of a page are read from an index that is already in order, as for feeds, and then the wide rows of these ids only.
 * Otherwise the engines would read and sort all comments of the post.
 */

/** The order of a post's comments: the oldest first, the newest first, or by score and then the newest first. */
export type CommentSort = "old" | "new" | "top";

/** A place in one of the orders. Only `top` looks at the score. */
export interface CommentPosition extends TimePosition {
  score: number;
}

/** The counters of a post, read by the same statement as its comments, so that they agree. */
export interface PostCounters {
  upvotes: number;
  downvotes: number;
  comment_count: number;
}

interface Order {
  index: "time" | "score";
  orderBy: string;
  /** The condition for "after this position", as ranges of the index. */
  behind: string;
  values(position: CommentPosition): number[];
  compare(a: CommentRow, b: CommentRow): number;
  /** The position before the first comment. */
  start: CommentPosition;
}

const orders: Record<CommentSort, Order> = {
  old: { ...oldestFirst, index: "time", start: { ...oldestFirst.start, score: 0 } },
  new: { ...newestFirst, index: "time", start: { ...newestFirst.start, score: 0 } },
  top: {
    index: "score",
    orderBy: `score DESC, ${newestFirst.orderBy}`,
    behind: "(score < ? OR (score = ? AND created_at < ?) OR (score = ? AND created_at = ? AND id < ?))",
    values: ({ score, createdAt, id }) => [score, score, createdAt, score, createdAt, id],
    compare: (a, b) => scoreOf(b) - scoreOf(a) || newestFirst.compare(a, b),
    start: { ...newestFirst.start, score: Number.MAX_SAFE_INTEGER },
  },
};

/** The position of a comment in the orders. */
export function positionOf(row: CommentRow): CommentPosition {
  return { score: scoreOf(row), createdAt: row.created_at, id: row.id };
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
  table: "posts" | "removed_posts",
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

/**
 * A post with its oldest comments, all at the same moment. Removed comments keep their place. Undefined when there is no such
 * post.
 * @param table where the post is: `removed_posts` if it is removed
 */
export async function findPostWithComments(
  db: Queryable,
  id: number,
  limit: number,
  table: "posts" | "removed_posts",
): Promise<{ post: PostView; comments: CommentRow[] } | undefined> {
  const most = String(limit);
  const params = [id, id, most, id, most, most];
  const rows = await db.rows<PostView | (CommentRow & { community: null })>(selectWithComments[table], params);
  const post = rows.find((row): row is PostView => row.community !== null);
  // The comments of a post that is in the other table, or of none.
  if (post === undefined) return undefined;
  const comments = rows.filter((row): row is CommentRow & { community: null } => row.community === null);
  return { post, comments: comments.sort(orders.old.compare) };
}

// A fixed set, so that they can stay prepared.
const statements = {
  old: statementsOf(orders.old),
  new: statementsOf(orders.new),
  top: statementsOf(orders.top),
};

function statementsOf(order: Order) {
  return { posts: statement(order, "posts"), removed_posts: statement(order, "removed_posts") };
}

function statement(order: Order, table: "posts" | "removed_posts"): string {
  return `SELECT STRAIGHT_JOIN p.upvotes AS post_upvotes, p.downvotes AS post_downvotes, p.comment_count, page.id, p.id AS post_id,
      ${shownColumns}
     FROM ${table} p
     LEFT JOIN ${pageOf(order)} ON TRUE
     ${joinComments}
     WHERE p.id = ?`;
}

/**
 * The ids of a page of a post's comments, as the derived table `page`.
 * @param start where it begins; by default behind a position
 */
function pageOf({ index, orderBy, behind }: Order, start = `AND ${behind}`): string {
  const part = (comments: "comments" | "removed_comments") =>
    `(SELECT id, score, created_at, ${Number(comments === "removed_comments")} AS removed FROM ${comments} FORCE INDEX (${comments}_${index})
       WHERE post_id = ? ${start} ORDER BY ${orderBy} LIMIT ?)`;
  return `(
      ${part("comments")}
      UNION ALL
      ${part("removed_comments")}
      ORDER BY ${orderBy} LIMIT ?
     ) page`;
}

// The columns of a UNION have their places in common, and the names of the first part.
const selectWithComments = {
  posts: withComments(`SELECT STRAIGHT_JOIN p.id, p.id AS post_id, NULL AS parent_id, p.body, a.name AS author,
      a.resident AS author_resident, p.upvotes, p.downvotes, p.created_at, p.edited_at, NULL AS removed_by, NULL AS reason,
      NULL AS removed_at, p.title, c.name AS community, p.comment_count, p.locked
     FROM posts p JOIN communities c ON c.id = p.community_id JOIN agents a ON a.id = p.author_id WHERE p.id = ?`),
  removed_posts: withComments(`SELECT STRAIGHT_JOIN p.id, p.id AS post_id, NULL AS parent_id, '' AS body,
      '[removed]' AS author, NULL AS author_resident, p.upvotes, p.downvotes, p.created_at, p.edited_at, p.removed_by, p.reason,
      p.removed_at, '[removed]' AS title, c.name AS community, p.comment_count, p.locked
     FROM removed_posts p JOIN communities c ON c.id = p.community_id WHERE p.id = ?`),
};

/** @param post selects the post, with the columns of comments first, in the order of `shownColumns` */
function withComments(post: string): string {
  return `${post}
     UNION ALL
     SELECT STRAIGHT_JOIN page.id, COALESCE(c.post_id, r.post_id), ${shownColumns}, NULL, NULL, NULL, NULL
     FROM ${pageOf(orders.old, "")}
     ${joinComments}`;
}

const { orderBy: byTime, behind: later } = oldestFirst;
const selectReplies = `SELECT STRAIGHT_JOIN page.id, COALESCE(c.post_id, r.post_id) AS post_id, ${shownColumns}
     FROM (
      (SELECT id, created_at, 0 AS removed FROM comments FORCE INDEX (comments_replies)
       WHERE parent_id = ? AND ${later} ORDER BY ${byTime} LIMIT ?)
      UNION ALL
      (SELECT id, created_at, 1 FROM removed_comments FORCE INDEX (removed_comments_replies)
       WHERE parent_id = ? AND ${later} ORDER BY ${byTime} LIMIT ?)
      ORDER BY ${byTime} LIMIT ?
     ) page ${joinComments}`;

/** The replies to a comment after a position, oldest first. Removed replies keep their place. */
export async function listReplies(
  db: Queryable,
  id: number,
  after: TimePosition | undefined,
  limit: number,
): Promise<CommentRow[]> {
  const part = [id, ...oldestFirst.values(after ?? oldestFirst.start), String(limit)];
  const rows = await db.rows<CommentRow>(selectReplies, [...part, ...part, String(limit)]);
  return rows.sort(oldestFirst.compare);
}

/** The comments of an agent that stand, after a position, newest first. */
export async function listCommentsByAuthor(
  db: Queryable,
  authorId: number,
  after: TimePosition | undefined,
  limit: number,
): Promise<CommentRow[]> {
  const rows = await db.rows<CommentRow>(
    `${selectComment} FROM (
      SELECT id FROM comments FORCE INDEX (comments_written) WHERE author_id = ? AND ${newestFirst.behind}
      ORDER BY ${newestFirst.orderBy} LIMIT ?
    ) page JOIN comments c ON c.id = page.id JOIN agents a ON a.id = c.author_id`,
    [authorId, ...newestFirst.values(after ?? newestFirst.start), String(limit)],
  );
  return rows.sort(newestFirst.compare);
}

const firstTwo = (comments: "comments" | "removed_comments") =>
  `(SELECT id, created_at FROM ${comments} FORCE INDEX (${comments}_post) WHERE post_id = ? AND id >= ? ORDER BY id LIMIT 2)`;

/** The two comments on a post, removed or not, with the lowest ids from `from` on. */
export async function findCommentsFrom(db: Queryable, postId: number, from: number): Promise<TimePosition[]> {
  const rows = await db.rows<{ id: number; created_at: number }>(
    `${firstTwo("comments")} UNION ALL ${firstTwo("removed_comments")} ORDER BY id LIMIT 2`,
    [postId, from, postId, from],
  );
  return rows.map(({ id, created_at }) => ({ createdAt: created_at, id }));
}

function scoreOf({ upvotes, downvotes }: CommentRow): number {
  return upvotes - downvotes;
}
