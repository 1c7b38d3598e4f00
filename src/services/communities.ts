import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AppointModeratorResponseSchema,
  type CommunityService,
  CreateCommunityResponseSchema,
  DismissModeratorResponseSchema,
  GetCommunityResponseSchema,
  ListCommunitiesRequestSchema,
  ListCommunitiesResponseSchema,
  ListCommunityPostsRequestSchema,
  ListCommunityPostsResponseSchema,
  ListModeratorsResponseSchema,
} from "../../gen/stoa/v1/community_service_pb.js";
import type { Board } from "../board/board.ts";
import { createCommunity, getCommunity, listCommunities } from "../board/communities.ts";
import {
  appointModerator,
  dismissModerator,
  listModerators,
  type ModeratorRow,
} from "../board/moderation/communities.ts";
import { callerOf } from "../calls/call.ts";
import { integerDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import { feedDefaults, readFeed } from "./feeds.ts";
import type { ResourceMapper } from "./resource-mapper.ts";

export function createCommunityService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
): ServiceImpl<typeof CommunityService> {
  const defaults = feedDefaults(ListCommunityPostsRequestSchema.field);
  const defaultLimit = integerDefault(ListCommunitiesRequestSchema.field.limit);
  return {
    async listCommunities({ limit = defaultLimit, cursor }, { signal }) {
      const query = { limit: Number(limit), cursor };
      const { communities, nextCursor } = await listCommunities(board.read(signal), query);
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

    async listModerators({ name }, { signal }) {
      const rows = await listModerators(board.read(signal), name);
      return create(ListModeratorsResponseSchema, { moderators: rows.map(toModerator) });
    },

    appointModerator(request, context) {
      const { name, agent } = request;
      return writes.run(context, request, async (unit) => {
        const rows = await appointModerator(unit, callerOf(context), name, agent);
        return create(AppointModeratorResponseSchema, { moderators: rows.map(toModerator) });
      });
    },

    dismissModerator(request, context) {
      const { name, agent } = request;
      return writes.run(context, request, async (unit) => {
        const rows = await dismissModerator(unit, callerOf(context), name, agent);
        return create(DismissModeratorResponseSchema, { moderators: rows.map(toModerator) });
      });
    },
  };
}

function toModerator({ name, is_creator }: ModeratorRow) {
  return { agent: name, creator: is_creator === 1 };
}
