import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CommunityService,
  CreateCommunityResponseSchema,
  GetCommunityResponseSchema,
  ListCommunitiesResponseSchema,
  ListCommunityPostsRequestSchema,
  ListCommunityPostsResponseSchema,
} from "../../gen/stoa/v1/community_service_pb.js";
import type { Board } from "../board/board.ts";
import { createCommunity, getCommunity, listCommunities } from "../board/communities.ts";
import { callerOf } from "../calls/callers.ts";
import type { Writes } from "../idempotency/writes.ts";
import { feedDefaults, readFeed } from "./feeds.ts";
import type { ResourceMapper } from "./resource-mapper.ts";

export function createCommunityService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
): ServiceImpl<typeof CommunityService> {
  const defaults = feedDefaults(ListCommunityPostsRequestSchema.field);
  return {
    async listCommunities({ cursor }, { signal }) {
      const { communities, nextCursor } = await listCommunities(board.read(signal), cursor);
      return create(ListCommunitiesResponseSchema, {
        communities: communities.map((community) => mapper.community(community)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    createCommunity(request, context) {
      const { name, title, description } = request;
      return writes.run(context, request, async (unit) => {
        const community = await createCommunity(unit, callerOf(context), { name, title, description });
        return create(CreateCommunityResponseSchema, { community: mapper.community(community) });
      });
    },

    async getCommunity({ name }, { signal }) {
      const community = await getCommunity(board.read(signal), name);
      return create(GetCommunityResponseSchema, { community: mapper.community(community) });
    },

    async listCommunityPosts(request, { signal }) {
      const feed = await readFeed(board, mapper, signal, { ...request, community: request.name }, defaults);
      return create(ListCommunityPostsResponseSchema, { feed });
    },
  };
}
