import type { Param, Queryable } from "../database/queryable.ts";
import { oldestBand } from "./age-bands.ts";
import { descending, type FeedPage, feedOrders } from "./feeds.ts";
import { joinPosts, type PostRow, selectPosts } from "./posts.ts";

/*
 * Reading a window in the order of time, or in the order of score, costs about the square root of the number of posts, and
 * all of them where scores depend on age. So each post is in a band of age, and each band has an index by score. A page
 * takes its first rows from every band of the window.
 *
 * A post's band may be out of date. A post that is too old for the window is left out by its time. A post may also be in an
 * older band although the window still has it: a cursor keeps the start of its first page, and the clocks of replicas
 * differ. It is found by its time in the older bands, where only the range of the window is read: what left its band in a
 * day at most, which board/feeds.ts sees to.
 */

/** The posts created at `since` (milliseconds since 1970, UTC) or later. */
export interface TopWindow {
  since: number;
  /** The band that ended at the start of the window when the first page was read. */
  band: number;
}

const { top } = feedOrders;

interface Statements {
  /** From an offset. */
  first: string;
  /** After a position. */
  behind: string;
}

// Each window has two statements for all posts and two for a community. A fixed set, so that they can stay prepared.
const ofAll = eachWindow((band) => statementsOf(band, ""));
const ofCommunity = eachWindow((band) => statementsOf(band, "community_"));

/** The posts of a window by score. It finds them in every band; it is fast when they are in the band of their age. */
export function listTopSince(
  db: Queryable,
  { communityId, start, limit }: FeedPage,
  { since, band }: TopWindow,
): Promise<PostRow[]> {
  const { first, behind } = (communityId === undefined ? ofAll : ofCommunity)[band] as Statements;
  const condition: Param[] = communityId === undefined ? [since] : [communityId, since];
  if ("after" in start) condition.push(...top.values(start.after));
  const offset = "after" in start ? 0 : start.offset;
  const params: Param[] = [];
  for (let each = 0; each <= band; each++) params.push(...condition, String(limit + offset));
  params.push(...condition, String(limit), String(offset));
  return db.rows<PostRow>("after" in start ? behind : first, params);
}

function eachWindow<T>(make: (band: number) => T): T[] {
  return Array.from({ length: oldestBand }, (_, band) => make(band));
}

function statementsOf(band: number, place: "" | "community_"): Statements {
  const condition = `${place === "" ? "" : "community_id = ? AND "}created_at >= ?`;
  return {
    first: statement(band, place, condition),
    behind: statement(band, place, `${condition} AND ${top.behind}`),
  };
}

function statement(band: number, place: "" | "community_", condition: string): string {
  const columns = top.columns.join(", ");
  const within = Array.from(
    { length: band + 1 },
    (_, each) => `(SELECT ${columns} FROM posts FORCE INDEX (posts_${place}band_top)
        WHERE age_band = ${each} AND ${condition} ORDER BY ${descending("", top)} LIMIT ?)`,
  );
  const older = Array.from({ length: oldestBand - band }, (_, i) => band + 1 + i).join(", ");
  return `${selectPosts} FROM (
      ${within.join(" UNION ALL ")} UNION ALL (SELECT ${columns} FROM posts FORCE INDEX (posts_band)
        WHERE age_band IN (${older}) AND ${condition})
      ORDER BY ${descending("", top)} LIMIT ? OFFSET ?
    ) page ${joinPosts} ORDER BY ${descending("page.", top)}`;
}
