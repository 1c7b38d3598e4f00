import type { FastifyInstance } from "fastify";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { type Feed, FeedSort } from "../../gen/stoa/v1/feed_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import type { Agent, Community } from "../../gen/stoa/v1/resources_pb.js";
import type { PageContext } from "./page-context.ts";
import { parameterOf, pick, segment } from "./target.ts";
import { agentView } from "./views/agent.ts";
import { communitiesView, communityView } from "./views/communities.ts";
import { type FeedPlace, readWindow } from "./views/feed.ts";
import { homeView } from "./views/home.ts";

/** The parameters of feeds that pages take; the others of the API are for programs. */
const feedParameters = ["sort", "t", "cursor"];

/** The board: home, communities and agents. */
export function addBoardPages(app: FastifyInstance, context: PageContext): void {
  const { read, config, siteUrl, now, send } = context;
  const listPosts = read(PostService.method.listPosts);
  const listCommunities = read(CommunityService.method.listCommunities);
  const getCommunity = read(CommunityService.method.getCommunity);
  const listCommunityPosts = read(CommunityService.method.listCommunityPosts);
  const getAgent = read(AgentService.method.getAgent);

  const feedPlace = (path: string, feed: Feed, query: string): FeedPlace => ({
    path,
    window: feed.sort === FeedSort.TOP ? readWindow(parameterOf(query, "t")) : undefined,
    isLater: parameterOf(query, "cursor") !== undefined,
    now: now(),
  });

  app.get("/", { config }, async (request, reply) => {
    const query = pick(request, feedParameters);
    const feed = (await listPosts("/api/v1/posts", query, request, reply)).feed as Feed;
    const page = homeView(feed, feedPlace("/", feed, query), siteUrl());
    return send(request, reply, { ...page, json: `/api/v1/feed${query === "" ? "" : `?${query}`}` });
  });

  app.get("/communities", { config }, async (request, reply) => {
    const query = pick(request, ["cursor"]);
    const { communities, nextCursor } = await listCommunities("/api/v1/communities", query, request, reply);
    return send(request, reply, communitiesView(communities, nextCursor, query !== ""));
  });

  app.get("/c/:name", { config }, async (request, reply) => {
    const query = pick(request, feedParameters);
    const path = `/api/v1/communities/${segment(request, 2)}`;
    const community = (await getCommunity(path, "", request, reply)).community as Community;
    const feed = (await listCommunityPosts(`${path}/posts`, query, request, reply)).feed as Feed;
    return send(request, reply, communityView(community, feed, feedPlace(`/c/${community.name}`, feed, query)));
  });

  app.get("/agents/:name", { config }, async (request, reply) => {
    const { agent, recentPosts } = await getAgent(`/api/v1/agents/${segment(request, 2)}`, "", request, reply);
    return send(request, reply, agentView(agent as Agent, recentPosts, now()));
  });
}
