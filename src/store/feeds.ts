import type { Param, Queryable } from "./database.ts";
import { joinPosts, type PostRow, selectPosts } from "./posts.ts";

/*
 * Every feed reads the ids of its page from an index that is already in order, then the wide rows of those alone; one
 * plain join would have MariaDB sort the whole table. The index is named, so that statistics cannot change the plan.
 */

/** Where a page starts: after so many posts, or right behind the post with these sort values. */
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

interface Order {
  index: string;
  /** The sort values, each descending; the index holds them. */
  columns: string[];
  /**
   * The condition for "behind this position", as ranges of the index. A row comparison, (hot, id) < (?, ?), would not be
   * read from the index, and a range by score alone would read every post of that score.
   */
  behind: string;
  values(position: FeedPosition): number[];
}

const hot: Order = {
  index: "hot",
  columns: ["hot", "id"],
  behind: "(hot < ? OR (hot = ? AND id < ?))",
  values: ({ hot, id }) => [hot, hot, id],
};
const newest: Order = {
  index: "new",
  columns: ["created_at", "id"],
  behind: "(created_at < ? OR (created_at = ? AND id < ?))",
  values: ({ createdAt, id }) => [createdAt, createdAt, id],
};
const top: Order = {
  index: "top",
  columns: ["score", "created_at", "id"],
  behind: "(score < ? OR (score = ? AND created_at < ?) OR (score = ? AND created_at = ? AND id < ?))",
  values: ({ score, createdAt, id }) => [score, score, createdAt, score, createdAt, id],
};

export function listHot(db: Queryable, page: FeedPage): Promise<PostRow[]> {
  return listInOrder(db, hot, hot.index, page);
}

export function listNew(db: Queryable, page: FeedPage): Promise<PostRow[]> {
  return listInOrder(db, newest, newest.index, page);
}

/** Posts by score, of all time or created at `since` or later (milliseconds since 1970, UTC). */
export async function listTop(db: Queryable, page: FeedPage, since?: number): Promise<PostRow[]> {
  if (since === undefined) return listInOrder(db, top, top.index, page);
  // Two plans. Few posts in the window: read them by time and sort. Many: read by score and skip those outside, of which
  // there are about `size / window` for each post inside, unless the window's posts score far below the others. The one
  // costs `window` reads, the other `wanted * size / window`: either way, about the bound, after as many to find out.
  const wanted = page.limit + ("offset" in page.start ? page.start.offset : 0);
  const bound = Math.ceil(Math.sqrt(wanted * (await countAbout(db, page.communityId))));
  const large = await hasMoreSince(db, page.communityId, since, bound);
  return listInOrder(db, top, large ? top.index : newest.index, page, since);
}

function listInOrder(
  db: Queryable,
  order: Order,
  index: string,
  { communityId, start, limit }: FeedPage,
  since?: number,
): Promise<PostRow[]> {
  const conditions: string[] = [];
  const params: Param[] = [];
  if (communityId !== undefined) {
    conditions.push("community_id = ?");
    params.push(communityId);
  }
  if (since !== undefined) {
    conditions.push("created_at >= ?");
    params.push(since);
  }
  if ("after" in start) {
    conditions.push(order.behind);
    params.push(...order.values(start.after));
  }
  params.push(String(limit), String("offset" in start ? start.offset : 0));
  const sql = `${selectPosts} FROM (
      SELECT ${order.columns.join(", ")} FROM posts FORCE INDEX (${indexName(index, communityId)})
      ${conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""}
      ORDER BY ${descending("", order)} LIMIT ? OFFSET ?
    ) page ${joinPosts} ORDER BY ${descending("page.", order)}`;
  return db.rows<PostRow>(sql, params);
}

function descending(table: string, { columns }: Order): string {
  return columns.map((column) => `${table}${column} DESC`).join(", ");
}

function indexName(index: string, communityId: number | undefined): string {
  return communityId === undefined ? `posts_${index}` : `posts_community_${index}`;
}

/** About how many posts there are: exact for a community, by the highest id for all. */
async function countAbout(db: Queryable, communityId: number | undefined): Promise<number> {
  const [row] =
    communityId === undefined
      ? await db.rows<{ n: number | null }>("SELECT MAX(id) AS n FROM posts")
      : await db.rows<{ n: number | null }>("SELECT post_count AS n FROM communities WHERE id = ?", [communityId]);
  return row?.n ?? 0;
}

/** Whether more than `bound` posts were created at `since` or later. It reads no more than that many of an index. */
async function hasMoreSince(db: Queryable, communityId: number | undefined, since: number, bound: number) {
  const rows = await db.rows(
    `SELECT id FROM posts FORCE INDEX (${indexName(newest.index, communityId)})
     WHERE ${communityId === undefined ? "" : "community_id = ? AND "}created_at >= ?
     ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ?`,
    [...(communityId === undefined ? [] : [communityId]), since, String(bound)],
  );
  return rows.length > 0;
}
