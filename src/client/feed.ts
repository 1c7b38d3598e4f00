import type { MessageInitShape } from "@bufbuild/protobuf";
import { FeedSort, FeedWindow } from "../../gen/stoa/v1/feed_pb.js";
import type { ListPostsRequestSchema } from "../../gen/stoa/v1/post_service_pb.js";
import { type NameOf, valueNamed } from "./enum-names.ts";

/** Selects posts, and their order. */
export interface FeedQuery {
  /** Default: hot. */
  sort?: NameOf<typeof FeedSort> | undefined;
  /** How far back `top` looks. Default: all. */
  t?: NameOf<typeof FeedWindow> | undefined;
  /** Only posts of this community. */
  community?: string | undefined;
}

/**
 * The first request of a feed, with the largest pages that the service allows.
 * @throws TypeError for an unknown name
 */
export function feedRequest({ sort, t, community }: FeedQuery): MessageInitShape<typeof ListPostsRequestSchema> {
  return {
    limit: 50n,
    ...(sort === undefined ? {} : { sort: valueNamed<FeedSort>(FeedSort, sort, "a feed") }),
    ...(t === undefined ? {} : { t: valueNamed<FeedWindow>(FeedWindow, t, "a feed") }),
    ...(community === undefined ? {} : { community }),
  };
}
