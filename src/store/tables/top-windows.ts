import type { Param, Queryable } from "../database/queryable.ts";
import { oldestBand } from "./age-bands.ts";
import { descending, type FeedPage, top } from "./feeds.ts";
import { joinPosts, type PostRow, selectPosts } from "./posts.ts";

/*
 * Two plans, by time or by score, read about the square root of the board each, and where scores hang on age all of it.
 * So posts are kept in bands of age, each in the order of the scores: a page takes its first rows from each band within.
 *
 * The band of a post is where it was last seen, not where it is. One that should have moved on is left out by its time.
 * One that has moved on though it is still asked for, because a cursor keeps the start of its first page or the clocks
 * of replicas differ, is found by its time in the older bands, of which no more is read than what is asked for.
 */

/** The posts created at `since` (milliseconds since 1970, UTC) or later. */
export interface TopWindow {
  since: number;
  /** The band of age that ends where the window began when the first page of it was read. */
  band: number;
}

interface Statements {
  /** From an offset. */
  first: string;
  /** Behind a position. */
  behind: string;
}

// All of them, two for all and two per community for each window: a closed set, as prepared statements want it.
const ofAll = eachWindow((band) => statementsOf(band, ""));
const ofCommunity = eachWindow((band) => statementsOf(band, "community_"));

/** The posts of a window by score; whatever band they are in, and a few reads for each if they are where they belong. */
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
