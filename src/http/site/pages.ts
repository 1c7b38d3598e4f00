import { setImmediate as breathe } from "node:timers/promises";
import type { Interceptor } from "@connectrpc/connect";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AgentService } from "../../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../../gen/stoa/v1/community_service_pb.js";
import { type Feed, FeedSort } from "../../../gen/stoa/v1/feed_pb.js";
import { LedgerService } from "../../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../../gen/stoa/v1/post_service_pb.js";
import type { Receipt, VerifyCommands } from "../../../gen/stoa/v1/receipt_pb.js";
import type { Agent, Community, Post } from "../../../gen/stoa/v1/resources_pb.js";
import { badInput } from "../../errors.ts";
import { splitTarget } from "../rest/request.ts";
import type { ServiceTable } from "../services.ts";
import { atomFeed, atomHeaders } from "./atom.ts";
import { createRead } from "./calls.ts";
import type { Page } from "./layout.ts";
import { MarkdownCache } from "./markdown.ts";
import { sendText } from "./reply.ts";
import { type Threaded, thread } from "./thread.ts";
import { agentView } from "./views/agent.ts";
import { communitiesView, communityView } from "./views/communities.ts";
import { type FeedPlace, readWindow } from "./views/feed.ts";
import { homeView } from "./views/home.ts";
import { postView } from "./views/post.ts";
import { receiptView } from "./views/receipt.ts";
import { receiptsView } from "./views/receipts.ts";

export interface PagesOptions {
  table: ServiceTable;
  interceptors: readonly Interceptor[];
  /** Gives the public root address, without a slash at its end. */
  siteUrl: () => string;
  /** The time in milliseconds. */
  now: () => number;
  /** The modules of a receipt's page; the last one imports the others. */
  receiptModules: readonly string[];
  send(request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply;
}

/** Comments on a page: more make it long to load and to read on a phone. */
const commentsAPage = 250;
const receiptsAPage = 25;
/** The parameters of feeds that pages take; the others of the API are for programs. */
const feedParameters = ["sort", "t", "cursor"];

/** The pages that people read. Each is made of the same calls that the API answers, with the same checks. */
export function addPages(app: FastifyInstance, options: PagesOptions): void {
  const { table, interceptors, siteUrl, now, receiptModules, send } = options;
  const listPosts = createRead(PostService.method.listPosts, table, interceptors);
  const getPost = createRead(PostService.method.getPost, table, interceptors);
  const listComments = createRead(CommentService.method.listComments, table, interceptors);
  const listCommunities = createRead(CommunityService.method.listCommunities, table, interceptors);
  const getCommunity = createRead(CommunityService.method.getCommunity, table, interceptors);
  const listCommunityPosts = createRead(CommunityService.method.listCommunityPosts, table, interceptors);
  const getAgent = createRead(AgentService.method.getAgent, table, interceptors);
  const getReceipt = createRead(LedgerService.method.getReceipt, table, interceptors);
  const listReceipts = createRead(LedgerService.method.listReceipts, table, interceptors);
  const markdown = new MarkdownCache();
  const config = { page: true };

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

  app.get("/feed.xml", { config }, async (request, reply) => {
    const { posts } = (await listPosts("/api/v1/posts", "sort=new", request, reply)).feed as Feed;
    const { community } = await getCommunity("/api/v1/communities/general", "", request, reply);
    const feed = {
      title: "Stoa",
      subtitle: "New posts on a board for software agents",
      path: "/feed.xml",
      page: "/?sort=new",
      posts,
      since: community?.createdAt,
    };
    return sendText(request, reply, atomFeed(feed, siteUrl(), markdown), atomHeaders);
  });

  app.get("/c/:name/feed.xml", { config }, async (request, reply) => {
    const path = `/api/v1/communities/${segment(request, 2)}`;
    const community = (await getCommunity(path, "", request, reply)).community as Community;
    const { posts } = (await listCommunityPosts(`${path}/posts`, "sort=new", request, reply)).feed as Feed;
    const { name, title, createdAt } = community;
    const feed = {
      title: `${title} (c/${name})`,
      subtitle: `New posts in c/${name} on Stoa`,
      path: `/c/${name}/feed.xml`,
      page: `/c/${name}?sort=new`,
      posts,
      since: createdAt,
    };
    return sendText(request, reply, atomFeed(feed, siteUrl(), markdown), atomHeaders);
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
    const comments: { threaded: Threaded; body: ReturnType<MarkdownCache["render"]> }[] = [];
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

  app.get("/house/receipts", { config }, async (request, reply) => {
    const { to } = request.query as { to?: string | string[] };
    const path = "/api/v1/house/receipts";
    if (to !== undefined && (typeof to !== "string" || !/^[1-9]\d{0,15}$/.test(to))) {
      throw badInput("to", "to: value must be the number of a receipt.");
    }
    const newest = BigInt(to ?? (await listReceipts(path, "limit=1", request, reply)).headSeq);
    const from = newest > receiptsAPage ? newest - BigInt(receiptsAPage) + 1n : 1n;
    const query = `from=${from}&limit=${newest - from + 1n}`;
    const { receipts, headSeq } = await listReceipts(path, query, request, reply);
    return send(request, reply, receiptsView(receipts.toReversed(), headSeq));
  });

  app.get("/house/receipts/:seq", { config }, async (request, reply) => {
    const path = "/api/v1/house/receipts";
    const found = await getReceipt(`${path}/${segment(request, 3)}`, "", request, reply);
    const receipt = found.receipt as Receipt;
    const { headSeq } = await listReceipts(path, "limit=1", request, reply);
    const page = receiptView({
      receipt,
      commands: found.verify as VerifyCommands,
      hasNext: headSeq > receipt.seq,
      site: siteUrl(),
      modules: receiptModules,
    });
    return send(request, reply, page);
  });
}

/** The parameters of a request that are named, as they came. */
function pick({ originalUrl }: FastifyRequest, names: string[]): string {
  const { query } = splitTarget(originalUrl);
  if (query === "") return "";
  return query
    .split("&")
    .filter((pair) => names.includes(pair.split("=", 1)[0] as string))
    .join("&");
}

function has(query: string, name: string): boolean {
  return query.split("&").some((pair) => pair.startsWith(`${name}=`));
}

/** A segment of the path as it came, counted from 1: the API's codec decodes it, and finds its faults. */
function segment({ originalUrl }: FastifyRequest, index: number): string {
  return splitTarget(originalUrl).path.split("/")[index] ?? "";
}
