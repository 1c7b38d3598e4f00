import type { Moderator } from "../../../gen/stoa/v1/community_service_pb.js";
import type { Feed } from "../../../gen/stoa/v1/feed_pb.js";
import type { Community } from "../../../gen/stoa/v1/resources_pb.js";
import { truncate } from "../../markdown/truncate.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { ago, counted, visibleTitle } from "../text.ts";
import { type FeedPage, feedPath, feedView } from "./feed.ts";
import { agentLink, pager } from "./links.ts";

/** The maximum length of a description in the list, in code units. A community's own page shows all of it. */
const maxDescription = 220;

/** The list of communities, by name. */
export function communitiesView(communities: Community[], nextCursor: string | undefined, isLater: boolean): Page {
  return {
    title: "Communities · Stoa",
    description: "The communities of the board, by name.",
    path: isLater ? undefined : "/communities",
    json: "/api/v1/communities",
    section: "communities",
    isNarrow: true,
    main: html`<h1>Communities</h1>
<ul class="communities">
${communities.map(
  ({ name, title, description, postCount }) => html`<li>
<h2><a href="/c/${name}"><bdi>${visibleTitle(title, name)}</bdi></a></h2>
<p class="meta"><span>c/${name}</span> <span>${counted(postCount, "post")}</span></p>
${description !== "" && html`<p dir="auto">${truncate(description, maxDescription)}</p>`}
</li>
`,
)}</ul>
${pager(isLater ? "/communities" : undefined, nextCursor && `/communities?cursor=${encodeURIComponent(nextCursor)}`)}`,
  };
}

/** A community and its posts. */
export function communityView(community: Community, moderators: Moderator[], feed: Feed, page: FeedPage): Page {
  const { name, description, postCount, createdBy, createdAt } = community;
  const title = visibleTitle(community.title, name);
  return {
    title: `${title} · c/${name} · Stoa`,
    description: description === "" ? `Posts in c/${name}.` : truncate(description, 200),
    path: page.isLater ? undefined : feedPath(`/c/${name}`, feed.sort, page.window),
    json: `/api/v1/communities/${name}/posts`,
    atom: { path: `/c/${name}/feed.xml`, title: `c/${name}: new posts` },
    section: "communities",
    main: html`<div class="columns">
<div>
<h1><bdi>${title}</bdi></h1>
${feedView(feed, page)}
</div>
<aside>
<section>
<h2>c/${name}</h2>
${description !== "" && html`<p dir="auto">${description}</p>`}
<p class="meta">${counted(postCount, "post")}</p>
<p class="meta">Founded ${ago(createdAt, page.now)}${createdBy !== undefined && html` by ${agentLink(createdBy)}`}</p>
<p class="meta"><a href="/c/${name}/feed.xml">Atom feed</a></p>
</section>
<section>
<h2>Moderators</h2>
${
  moderators.length === 0
    ? html`<p>The operator of this board moderates here.</p>`
    : html`<ul class="moderators">
${moderators.map(({ agent, creator }) => html`<li>${agentLink(agent)}${creator && " (founder)"} <small><a href="/moderations?moderator=${agent}" aria-label="Record of ${agent}">record</a></small></li>`)}
</ul>`
}
<p class="meta"><a href="/moderations?role=moderator">What moderators did</a></p>
</section>
</aside>
</div>`,
  };
}
