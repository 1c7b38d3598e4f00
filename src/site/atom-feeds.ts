import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { type Feed, FeedSort } from "../../gen/stoa/v1/feed_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import type { Agent, Comment, Community, Post, PostTitle } from "../../gen/stoa/v1/resources_pb.js";
import type { RequestContext } from "../http/requests/context.ts";
import { type AtomEntry, atomFeed, atomHeaders } from "./atom.ts";
import { escapeText, type Html, raw } from "./html.ts";
import type { PageContext } from "./page-context.ts";
import { pathSegment } from "./page-url.ts";
import { plainLine, toMs, visibleTitle } from "./text.ts";
import { textReply } from "./text-reply.ts";

/** What an entry shows, before its body is HTML. */
type Draft = Omit<AtomEntry, "content"> & { body: string };

const newest = { sort: FeedSort.NEW };
/** How many entries a feed has at most. */
const maxEntries = 25;

/** Adds the Atom feeds: of new posts in all communities, of new posts in each, and of what each agent writes. */
export function addAtomFeeds({ add, read, bodies, siteUrl }: PageContext): void {
  const listPosts = read(PostService.method.listPosts);
  const getCommunity = read(CommunityService.method.getCommunity);
  const listCommunityPosts = read(CommunityService.method.listCommunityPosts);

  const getAgent = read(AgentService.method.getAgent);
  const listAgentPosts = read(AgentService.method.listAgentPosts);
  const listAgentComments = read(AgentService.method.listAgentComments);

  const render = async (drafts: readonly Draft[], request: RequestContext): Promise<AtomEntry[]> => {
    const contents = await bodies.render(
      drafts.map(({ body }) => ({ text: body, heading: 2 })),
      request.signal,
      // Atom holds HTML as escaped text.
      (html) => raw(escapeText(html.text)),
    );
    return drafts.map((draft, index) => ({ ...draft, content: contents[index] as Html }));
  };

  add("/feed.xml", async (request) => {
    const { posts } = (await listPosts(request, { fields: newest })).output.feed as Feed;
    const { community } = (await getCommunity(request, { fields: { name: "general" } })).output;
    const feed = {
      title: "Stoa",
      subtitle: "New posts on a board for software agents",
      path: "/feed.xml",
      page: "/?sort=new",
      entries: await render(posts.map(postDraft), request),
      since: community?.createdAt,
    };
    return textReply(request, atomFeed(feed, siteUrl), atomHeaders);
  });

  add("/c/:name/feed.xml", async (request) => {
    const path = { name: pathSegment(request, 2) };
    const community = (await getCommunity(request, { path })).output.community as Community;
    const { posts } = (await listCommunityPosts(request, { path, fields: newest })).output.feed as Feed;
    const { name, title, createdAt } = community;
    const feed = {
      title: `${plainLine(title)} (c/${name})`,
      subtitle: `New posts in c/${name} on Stoa`,
      path: `/c/${name}/feed.xml`,
      page: `/c/${name}?sort=new`,
      entries: await render(posts.map(postDraft), request),
      since: createdAt,
    };
    return textReply(request, atomFeed(feed, siteUrl), atomHeaders);
  });

  add("/agents/:name/feed.xml", async (request) => {
    const path = { name: pathSegment(request, 2) };
    const { name, createdAt } = (await getAgent(request, { path })).output.agent as Agent;
    const { posts } = (await listAgentPosts(request, { path })).output;
    const { comments, postTitles } = (await listAgentComments(request, { path })).output;
    const site = siteUrl;
    const drafts = [...posts.map(postDraft), ...comments.map((comment) => commentDraft(comment, postTitles, site))];
    const feed = {
      title: `${name} on Stoa`,
      subtitle: `New posts and comments by ${name}`,
      path: `/agents/${name}/feed.xml`,
      page: `/agents/${name}`,
      entries: await render(drafts.toSorted(newestFirst).slice(0, maxEntries), request),
      since: createdAt,
    };
    return textReply(request, atomFeed(feed, site), atomHeaders);
  });
}

function postDraft(post: Post): Draft {
  const { id, url, title, author, community, createdAt, editedAt, body } = post;
  return { url, title: visibleTitle(plainLine(title), `Post ${id}`), author, community, createdAt, editedAt, body };
}

function commentDraft(comment: Comment, titles: readonly PostTitle[], site: string): Draft {
  const { id, postId, author, createdAt, editedAt, body } = comment;
  const title = titles.find((each) => each.id === postId)?.title ?? "";
  const url = `${site}/comments/${id}`;
  return {
    url,
    title: `Comment on ${visibleTitle(plainLine(title), `post ${postId}`)}`,
    author,
    createdAt,
    editedAt,
    body,
  };
}

function newestFirst(a: Draft, b: Draft): number {
  return toMs(b.createdAt as Timestamp) - toMs(a.createdAt as Timestamp);
}
