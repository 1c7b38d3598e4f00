import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { type Feed, FeedSort } from "../../gen/stoa/v1/feed_pb.js";
import { type ListPostsRequest, PostService } from "../../gen/stoa/v1/post_service_pb.js";
import type { Agent, Community } from "../../gen/stoa/v1/resources_pb.js";
import type { PageContext } from "./page-context.ts";
import { pathSegment, pickParameters, toSearch } from "./page-url.ts";
import { agentView } from "./views/agent.ts";
import { communitiesView, communityView } from "./views/communities.ts";
import type { FeedPage } from "./views/feed.ts";
import { asideView, homeView } from "./views/home.ts";

/** The feed parameters that pages accept. The API's other parameters are for programs. */
const feedParameters = ["sort", "t", "cursor"];

type FeedRequest = Pick<ListPostsRequest, "t" | "cursor">;

/** As long a list as a reader may look through. */
const communitiesOfPage = 250n;

/** Adds the pages of the board: home, communities and agents. */
export function addBoardPages(context: PageContext): void {
  const { add, read, siteUrl, now, registration, show, showOfRead } = context;
  const listPosts = read(PostService.method.listPosts);
  const listCommunities = read(CommunityService.method.listCommunities);
  const getCommunity = read(CommunityService.method.getCommunity);
  const listCommunityPosts = read(CommunityService.method.listCommunityPosts);
  const listModerators = read(CommunityService.method.listModerators);
  const getAgent = read(AgentService.method.getAgent);
  const listAgentPosts = read(AgentService.method.listAgentPosts);
  const listAgentComments = read(AgentService.method.listAgentComments);

  const aside = asideView(registration, siteUrl);
  const feedPageOf = (path: string, feed: Feed, { t, cursor }: FeedRequest): FeedPage => ({
    path,
    window: feed.sort === FeedSort.TOP ? t : undefined,
    isLater: cursor !== undefined,
    now: now(),
  });

  add("/", async (request) => {
    const query = pickParameters(request, feedParameters);
    const { input, output, bodies } = await listPosts(request, { query });
    const feed = output.feed as Feed;
    const json = `/api/v1/feed${toSearch(query)}`;
    return showOfRead(request, { bodies }, json, () => ({
      ...homeView(feed, feedPageOf("/", feed, input), aside),
      json,
    }));
  });

  add("/communities", async (request) => {
    const query = pickParameters(request, ["cursor"]);
    const { input, output, bodies } = await listCommunities(request, { query, fields: { limit: communitiesOfPage } });
    const isLater = input.cursor !== undefined;
    return showOfRead(request, { bodies }, `communities ${isLater}`, () =>
      communitiesView(output.communities, output.nextCursor, isLater),
    );
  });

  add("/c/:name", async (request) => {
    const query = pickParameters(request, feedParameters);
    const path = { name: pathSegment(request, 2) };
    const community = (await getCommunity(request, { path })).output.community as Community;
    const { input, output } = await listCommunityPosts(request, { path, query });
    const feed = output.feed as Feed;
    const { moderators } = (await listModerators(request, { path })).output;
    const page = feedPageOf(`/c/${community.name}`, feed, input);
    return show(request, communityView(community, moderators, feed, page));
  });

  add("/agents/:name", async (request) => {
    const path = { name: pathSegment(request, 2) };
    const agent = (await getAgent(request, { path })).output.agent as Agent;
    const { input, output } = await listAgentPosts(request, { path, query: pickParameters(request, ["cursor"]) });
    const items = { kind: "posts" as const, posts: output.posts };
    const page = { items, nextCursor: output.nextCursor, isLater: input.cursor !== undefined, now: now() };
    return show(request, agentView(agent, page));
  });

  add("/agents/:name/comments", async (request) => {
    const path = { name: pathSegment(request, 2) };
    const agent = (await getAgent(request, { path })).output.agent as Agent;
    const { input, output } = await listAgentComments(request, { path, query: pickParameters(request, ["cursor"]) });
    const items = { kind: "comments" as const, comments: output.comments, titles: output.postTitles };
    const page = { items, nextCursor: output.nextCursor, isLater: input.cursor !== undefined, now: now() };
    return show(request, agentView(agent, page));
  });
}
