import { badInput } from "../errors.ts";
import { bandEndsMs } from "../store/tables/age-bands.ts";
import { areMoreSince, type FeedPage, type FeedPosition, listFeedPage } from "../store/tables/feeds.ts";
import { countPosts } from "../store/tables/post-counts.ts";
import type { PostRow } from "../store/tables/posts.ts";
import { highestId } from "../store/tables/salted-rows.ts";
import { listTopSince, type TopWindow } from "../store/tables/top-windows.ts";
import type { Queryable, Reader } from "./board.ts";
import { getCommunityId } from "./communities.ts";
import { decodeCursor, encodeCursor } from "./cursors.ts";

export type FeedSort = "hot" | "new" | "top";
export type FeedWindow = "day" | "week" | "month" | "year" | "all";

export interface FeedQuery {
  sort: FeedSort;
  window: FeedWindow;
  limit: number;
  /** Absent means 0. It cannot be combined with `cursor`. */
  offset: number | undefined;
  cursor: string | undefined;
  /** Only posts of this community. */
  community: string | undefined;
  /** The input that named the community, for the error `not_found`. */
  communityField?: string | undefined;
  /** The current time, in milliseconds since 1970 (UTC); windows end there. */
  now: number;
}

export interface FeedResult {
  posts: PostRow[];
  offset: number;
  nextOffset: number | undefined;
  nextCursor: string | undefined;
}

/** The band of age that ends at the start of the window. */
const windowBands = { day: 0, week: 1, month: 2, year: 3 } as const;
/**
 * A page with this offset or a larger one is deep. Its cost grows with the offset, which the client chooses. So the board first
 * checks that there are that many posts, and reads only a few such pages at a time. Cursors cost the same at any depth.
 */
export const deepOffset = 1_000;
/**
 * How long a cursor keeps the start of its first page's window, in milliseconds; after that the start moves. Posts that have
 * left the window since the first page are found one by one, so neither a slow client nor a forged cursor may need many.
 */
const keptStartMs = 86_400_000;
/** The feed that a cursor belongs to: all of its pages have the same values. */
interface FeedIdentity {
  sort: FeedSort;
  communityId: number | undefined;
  window: FeedWindow;
  /** The start of the window, which the first page fixes for a day. */
  since: number | undefined;
}

/**
 * A page of a feed.
 * @throws StoaError `not_found` for an unknown community; `bad_input`, field `cursor`, for a cursor that belongs to
 * another feed or comes with an offset.
 */
export async function listFeed(db: Reader, query: FeedQuery): Promise<FeedResult> {
  const { sort, limit, cursor, offset } = query;
  if (cursor !== undefined && offset !== undefined)
    throw badInput("cursor", "A cursor cannot be combined with an offset.");
  const position = cursor === undefined ? undefined : decodeFeedCursor(cursor);
  const communityId =
    query.community === undefined ? undefined : await getCommunityId(db, query.community, query.communityField);
  const window = sort === "top" ? query.window : "all";
  const top = window === "all" ? undefined : topWindow(window, query.now, position?.feed.since);
  const feed: FeedIdentity = { sort, communityId, window, since: top?.since };
  if (position && !sameFeed(position.feed, feed)) throw badInput("cursor", "This cursor belongs to another feed.");

  const page: FeedPage = {
    communityId,
    start: position ? { after: position.after } : { offset: offset ?? 0 },
    limit: limit + 1, // One more tells whether there is a next page.
  };
  const from = (offset ?? 0) < deepOffset ? db : await findDeepReader(db, page, top);
  const rows = from === undefined ? [] : await (top ? listTopSince(from, page, top) : listFeedPage(from, sort, page));
  const posts = rows.slice(0, limit);
  const last = rows.length > limit ? posts.at(-1) : undefined;
  return {
    posts,
    offset: offset ?? 0,
    nextOffset: last && !position ? (offset ?? 0) + limit : undefined,
    nextCursor: last && encodeFeedCursor(feed, last),
  };
}

/** The reader for a page with a large offset; undefined if there are not that many posts. */
async function findDeepReader(
  db: Reader,
  { communityId, start }: FeedPage,
  top: TopWindow | undefined,
): Promise<Queryable | undefined> {
  const offset = "offset" in start ? start.offset : 0;
  const posts = communityId === undefined ? await highestId(db, "post") : await countPosts(db, communityId);
  if (posts <= offset) return undefined;
  const few = db.costly();
  return top === undefined || (await areMoreSince(few, communityId, top.since, offset)) ? few : undefined;
}

/** The window of a page. `kept` is the start of the window that the cursor holds. */
function topWindow(window: keyof typeof windowBands, now: number, kept: number | undefined): TopWindow {
  const band = windowBands[window];
  const length = bandEndsMs[band] as number;
  const since = now - length;
  if (kept === undefined) return { band, since };
  // Clocks differ and are set back, so the start may be a little late. One that is late by a day, or by half of the window, is
  // forged: hardly any post would match, and the search would read the whole window.
  const furthest = since + Math.min(keptStartMs, length / 2);
  return { band, since: Math.min(Math.max(kept, since - keptStartMs), furthest) };
}

function encodeFeedCursor({ sort, communityId, window, since }: FeedIdentity, last: PostRow): string {
  return encodeCursor([
    sort,
    communityId ?? null,
    window,
    since ?? null,
    last.hot_rank,
    last.upvotes - last.downvotes,
    last.created_at,
    last.id,
  ]);
}

function decodeFeedCursor(text: string): { feed: FeedIdentity; after: FeedPosition } {
  const [sort, communityId, window, since, hot, score, createdAt, id, ...rest] = decodeCursor(text);
  if (
    (sort === "hot" || sort === "new" || sort === "top") &&
    (communityId === null || Number.isSafeInteger(communityId)) &&
    typeof window === "string" &&
    (window === "all" ? since === null : Object.hasOwn(windowBands, window) && Number.isSafeInteger(since)) &&
    typeof hot === "number" &&
    [score, createdAt, id].every(Number.isSafeInteger) &&
    rest.length === 0
  ) {
    return {
      feed: {
        sort,
        communityId: (communityId as number | null) ?? undefined,
        window: window as FeedWindow,
        since: (since as number | null) ?? undefined,
      },
      after: { hot, score: score as number, createdAt: createdAt as number, id: id as number },
    };
  }
  throw badInput("cursor", "This is not a cursor of a feed.");
}

function sameFeed(a: FeedIdentity, b: FeedIdentity): boolean {
  return a.sort === b.sort && a.communityId === b.communityId && a.window === b.window;
}
