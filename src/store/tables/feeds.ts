import type { Param, Queryable } from "../database/queryable.ts";
import { joinPosts, type PostRow, selectPosts } from "./posts.ts";
import { newestFirst } from "./time-order.ts";

/*
 * Every feed reads the ids of its page from an index that is already in order, and then the wide rows of these ids only.
 * With a plain join MariaDB would sort the whole table. The index is named, so that statistics cannot change the plan.
 */

/** Where a page starts: after this number of posts, or right after the post with these sort values. */
export type FeedStart = { offset: number } | { after: FeedPosition };

/** The sort values of a post: `hot` for hot, `createdAt` for new, `score` and `createdAt` for top; `id` breaks ties. */
export interface FeedPosition {
  hot: number;
  score: number;
  createdAt: number;
  id: number;
}

export interface FeedPage {
  /** Only posts of this community. */
  communityId: number | undefined;
  start: FeedStart;
  limit: number;
}

export interface Order {
  index: string;
  /** The sort values, each descending; the index holds them. */
  columns: string[];
  /**
   * The condition for "after this position", as ranges of the index. The engines do not use the index for a row comparison
   * such as (hot, id) < (?, ?), and a range by score alone would read every post of that score.
   */
  behind: string;
  values(position: FeedPosition): number[];
}

/** The orders of feeds. `top` is of all time; for the posts of a window, which no index has in order, see top-windows.ts. */
export const feedOrders = {
  hot: {
    index: "hot_rank",
    columns: ["hot_rank", "id"],
    behind: "(hot_rank < ? OR (hot_rank = ? AND id < ?))",
    values: ({ hot, id }) => [hot, hot, id],
  },
  new: { index: "new", columns: ["created_at", "id"], behind: newestFirst.behind, values: newestFirst.values },
  top: {
    index: "top",
    columns: ["score", "created_at", "id"],
    behind: "(score < ? OR (score = ? AND created_at < ?) OR (score = ? AND created_at = ? AND id < ?))",
    values: ({ score, createdAt, id }) => [score, score, createdAt, score, createdAt, id],
  },
} satisfies Record<string, Order>;

// A fixed set, so that they can stay prepared.
const statements = {
  hot: statementsOf(feedOrders.hot),
  new: statementsOf(feedOrders.new),
  top: statementsOf(feedOrders.top),
};

/** The statements of the whole board and of one community, for the first posts and for those after a position. */
function statementsOf(order: Order) {
  return { board: statementsIn("posts", order), community: statementsIn("posts_community", order) };
}

function statementsIn(prefix: "posts" | "posts_community", order: Order) {
  const { columns, behind, index } = order;
  const statement = (...conditions: string[]) => {
    if (prefix === "posts_community") conditions.unshift("community_id = ?");
    return `${selectPosts} FROM (
      SELECT ${columns.join(", ")} FROM posts FORCE INDEX (${prefix}_${index})
      ${conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""}
      ORDER BY ${descending("", order)} LIMIT ? OFFSET ?
    ) page ${joinPosts} ORDER BY ${descending("page.", order)}`;
  };
  return { first: statement(), later: statement(behind) };
}

/** A page of a feed. */
export function listFeedPage(
  db: Queryable,
  sort: keyof typeof feedOrders,
  { communityId, start, limit }: FeedPage,
): Promise<PostRow[]> {
  const params: Param[] = communityId === undefined ? [] : [communityId];
  if ("after" in start) params.push(...feedOrders[sort].values(start.after));
  params.push(String(limit), String("offset" in start ? start.offset : 0));
  const { board, community } = statements[sort];
  const { first, later } = communityId === undefined ? board : community;
  return db.rows<PostRow>("after" in start ? later : first, params);
}

/**
 * Whether more than `offset` posts were created at `since` (milliseconds since 1970, UTC) or later. It reads that many
 * entries of an index, and no rows.
 */
export async function areMoreSince(
  db: Queryable,
  communityId: number | undefined,
  since: number,
  offset: number,
): Promise<boolean> {
  const [index, inCommunity] =
    communityId === undefined ? ["posts_new", ""] : ["posts_community_new", "community_id = ? AND "];
  const sql = `SELECT 1 FROM posts FORCE INDEX (${index})
    WHERE ${inCommunity}created_at >= ? ORDER BY created_at, id LIMIT 1 OFFSET ?`;
  const params = communityId === undefined ? [since] : [communityId, since];
  return (await db.rows(sql, [...params, String(offset)])).length > 0;
}

/** The order of `columns`, for ORDER BY; `table` is empty or ends with a dot. */
export function descending(table: string, { columns }: Order): string {
  return columns.map((column) => `${table}${column} DESC`).join(", ");
}
