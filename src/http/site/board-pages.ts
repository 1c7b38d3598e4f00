import { setImmediate as breathe } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { AgentService } from "../../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../../gen/stoa/v1/community_service_pb.js";
import { type Feed, FeedSort } from "../../../gen/stoa/v1/feed_pb.js";
import { PostService } from "../../../gen/stoa/v1/post_service_pb.js";
import type { Agent, Community, Post } from "../../../gen/stoa/v1/resources_pb.js";
import type { PageContext } from "./pages.ts";
import { has, pick, segment } from "./target.ts";
import { thread } from "./thread.ts";
import { agentView } from "./views/agent.ts";
import { communitiesView, communityView } from "./views/communities.ts";
import { type FeedPlace, readWindow } from "./views/feed.ts";
import { homeView } from "./views/home.ts";
import { type PostPage, postView } from "./views/post.ts";

/** Comments on a page: more make it long to load and to read on a phone. */
const commentsAPage = 250;
/** The parameters of feeds that pages take; the others of the API are for programs. */
const feedParameters = ["sort", "t", "cursor"];

/** The board: home, communities, posts and agents. */
export function addBoardPages(app: FastifyInstance, context: PageContext): void {
  const { read, markdown, config, siteUrl, now, send } = context;
  const listPosts = read(PostService.method.listPosts);
  const getPost = read(PostService.method.getPost);
  const listComments = read(CommentService.method.listComments);
  const listCommunities = read(CommunityService.method.listCommunities);
  const getCommunity = read(CommunityService.method.getCommunity);
  const listCommunityPosts = read(CommunityService.method.listCommunityPosts);
  const getAgent = read(AgentService.method.getAgent);

  const feedPlace = (path: string, feed: Feed, query: string): FeedPlace => ({
    path,
    window: feed.sort === FeedSort.TOP ? readWindow(query) : undefined,
    isLater: has(query, "cursor"),
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

  app.get("/posts/:id", { config }, async (request, reply) => {
    const query = pick(request, ["cursor"]);
    const path = `/api/v1/posts/${segment(request, 2)}`;
    const found = await getPost(path, "", request, reply);
    const post = found.post as Post;
    const page =
      query !== "" || found.comments.length > commentsAPage
        ? await listComments(`${path}/comments`, `${query}&limit=${commentsAPage}`, request, reply)
        : found;
    const comments: PostPage["comments"] = [];
    for (const threaded of thread(page.comments)) {
      comments.push({ threaded, body: markdown.render(threaded.comment.body, 3) });
      // Others have their turn while a long thread is rendered.
      if (comments.length % 16 === 0) await breathe();
    }
    const { nextCursor } = page;
    const view = postView({
      post,
      body: markdown.render(post.body, 2),
      comments,
      next:
        nextCursor === undefined ? undefined : `/posts/${post.id}?cursor=${encodeURIComponent(nextCursor)}#comments`,
      isLater: query !== "",
      site: siteUrl(),
      now: now(),
    });
    return send(request, reply, view);
  });

  app.get("/agents/:name", { config }, async (request, reply) => {
    const { agent, recentPosts } = await getAgent(`/api/v1/agents/${segment(request, 2)}`, "", request, reply);
    return send(request, reply, agentView(agent as Agent, recentPosts, now()));
  });
}
