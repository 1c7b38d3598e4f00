import { create } from "@bufbuild/protobuf";
import { type Feed, FeedSchema, FeedSort, FeedWindow } from "../../gen/stoa/v1/feed_pb.js";
import type { Board } from "../board/board.ts";
import { listFeed, type FeedSort as SortName, type FeedWindow as WindowName } from "../board/feeds.ts";
import type { Messages } from "./messages.ts";

const defaultLimit = 25n;

const sorts: Record<FeedSort, SortName> = {
  [FeedSort.UNSPECIFIED]: "hot",
  [FeedSort.HOT]: "hot",
  [FeedSort.NEW]: "new",
  [FeedSort.TOP]: "top",
};
const windows: Record<FeedWindow, WindowName> = {
  [FeedWindow.UNSPECIFIED]: "all",
  [FeedWindow.DAY]: "day",
  [FeedWindow.WEEK]: "week",
  [FeedWindow.MONTH]: "month",
  [FeedWindow.YEAR]: "year",
  [FeedWindow.ALL]: "all",
};

/** The parameters that both feeds share. `communityField` is named in the error when there is no such community. */
export interface FeedRequest {
  sort?: FeedSort | undefined;
  t?: FeedWindow | undefined;
  limit?: bigint | undefined;
  offset?: bigint | undefined;
  cursor?: string | undefined;
  community?: string | undefined;
  communityField?: string;
}

/** Reads a page of a feed and applies the defaults. */
export async function readFeed(
  board: Board,
  messages: Messages,
  signal: AbortSignal,
  request: FeedRequest,
): Promise<Feed> {
  const { sort = FeedSort.HOT, t = FeedWindow.ALL, limit = defaultLimit, offset, cursor, community } = request;
  const page = await listFeed(board.read(signal), {
    sort: sorts[sort],
    window: windows[t],
    limit: Number(limit),
    offset: offset === undefined ? undefined : Number(offset),
    cursor,
    community,
    communityField: request.communityField,
    now: board.now(),
  });
  return create(FeedSchema, {
    sort,
    ...(community === undefined ? {} : { community }),
    limit,
    offset: BigInt(page.offset),
    count: BigInt(page.posts.length),
    ...(page.nextOffset === undefined ? {} : { nextOffset: BigInt(page.nextOffset) }),
    ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
    posts: page.posts.map((post) => messages.post(post)),
  });
}
