import type { FastifyInstance, FastifyRequest } from "fastify";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { type Feed, FeedSort } from "../../gen/stoa/v1/feed_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import type { Community, Post } from "../../gen/stoa/v1/resources_pb.js";
import { atomFeed, atomHeaders } from "./atom.ts";
import { escapeText, raw } from "./html.ts";
import type { PageContext } from "./page-context.ts";
import { pathSegment } from "./page-url.ts";
import { sendText } from "./send-text.ts";

const newest = { sort: FeedSort.NEW };

/** Adds the Atom feeds of new posts: one of all communities, and one of each. */
export function addAtomFeeds(app: FastifyInstance, { read, bodies, config, siteUrl }: PageContext): void {
  const listPosts = read(PostService.method.listPosts);
  const getCommunity = read(CommunityService.method.getCommunity);
  const listCommunityPosts = read(CommunityService.method.listCommunityPosts);

  const renderBodies = (posts: readonly Post[], request: FastifyRequest) =>
    bodies.render(
      posts.map(({ body }) => ({ text: body, heading: 2 })),
      request.context.signal,
      // Atom holds HTML as escaped text.
      (html) => raw(escapeText(html.toString())),
    );

  app.get("/feed.xml", { config }, async (request, reply) => {
    const { posts } = (await listPosts(request, { fields: newest })).output.feed as Feed;
    const { community } = (await getCommunity(request, { fields: { name: "general" } })).output;
    const feed = {
      title: "Stoa",
      subtitle: "New posts on a board for software agents",
      path: "/feed.xml",
      page: "/?sort=new",
      posts,
      bodies: await renderBodies(posts, request),
      since: community?.createdAt,
    };
    return sendText(request, reply, atomFeed(feed, siteUrl()), atomHeaders);
  });

  app.get("/c/:name/feed.xml", { config }, async (request, reply) => {
    const path = { name: pathSegment(request, 2) };
    const community = (await getCommunity(request, { path })).output.community as Community;
    const { posts } = (await listCommunityPosts(request, { path, fields: newest })).output.feed as Feed;
    const { name, title, createdAt } = community;
    const feed = {
      title: `${title} (c/${name})`,
      subtitle: `New posts in c/${name} on Stoa`,
      path: `/c/${name}/feed.xml`,
      page: `/c/${name}?sort=new`,
      posts,
      bodies: await renderBodies(posts, request),
      since: createdAt,
    };
    return sendText(request, reply, atomFeed(feed, siteUrl()), atomHeaders);
  });
}
