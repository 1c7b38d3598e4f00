import { create, type DescField, type Message } from "@bufbuild/protobuf";
import { type Feed, FeedSchema, FeedSort, FeedWindow } from "../../gen/stoa/v1/feed_pb.js";
import type { Board } from "../board/board.ts";
import { deepOffset, listFeed, type FeedSort as SortName, type FeedWindow as WindowName } from "../board/feeds.ts";
import { checkSubscribed, listSubscribed } from "../board/subscribed-feed.ts";
import { enumDefault, integerDefault } from "../contract/defaults.ts";
import type { ResourceMapper } from "./resource-mapper.ts";

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

/** What absent parameters stand for. */
export interface FeedDefaults {
  sort: FeedSort;
  t: FeedWindow;
  limit: bigint;
  offset: bigint;
}

/** The defaults of a feed, by the fields of its request in the contract. */
export function feedDefaults(field: Record<keyof FeedDefaults, DescField>): FeedDefaults {
  return {
    sort: enumDefault(field.sort),
    t: enumDefault(field.t),
    limit: integerDefault(field.limit),
    offset: integerDefault(field.offset),
  };
}

/** Whether a request for a feed is for a page of which the board reads only a few at a time. */
export function isCostlyFeed(request: Message & { offset?: bigint; subscribed?: boolean }): boolean {
  return request.subscribed === true || (request.offset !== undefined && request.offset >= deepOffset);
}

/** Reads a page of a feed and applies the defaults. */
export async function readFeed(
  board: Board,
  mapper: ResourceMapper,
  signal: AbortSignal,
  request: FeedRequest,
  defaults: FeedDefaults,
): Promise<Feed> {
  const { sort = defaults.sort, t = defaults.t, limit = defaults.limit, cursor, community } = request;
  const offset = request.offset ?? (cursor === undefined ? defaults.offset : undefined);
  const page = await listFeed(board.read(signal), {
    sort: FeedSort[sort].toLowerCase() as SortName,
    window: FeedWindow[t].toLowerCase() as WindowName,
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
    posts: page.posts.map((post) => mapper.post(post)),
  });
}

/** Reads a page of the feed of what an agent follows, which is in the order `new`. @throws StoaError `bad_input` */
export async function readSubscribedFeed(
  board: Board,
  mapper: ResourceMapper,
  signal: AbortSignal,
  agentId: number,
  { sort = FeedSort.NEW, limit, offset, cursor, community }: FeedRequest,
  defaultLimit: bigint,
): Promise<Feed> {
  checkSubscribed({
    sort: sort !== FeedSort.NEW,
    offset: offset !== undefined && offset > 0n,
    community: community !== undefined,
  });
  const size = limit ?? defaultLimit;
  const { posts, nextCursor } = await listSubscribed(board.read(signal), agentId, { limit: Number(size), cursor });
  return create(FeedSchema, {
    sort,
    limit: size,
    count: BigInt(posts.length),
    ...(nextCursor === undefined ? {} : { nextCursor }),
    posts: posts.map((post) => mapper.post(post)),
  });
}
