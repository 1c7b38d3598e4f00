import type { Agent, Post } from "../../../gen/stoa/v1/resources_pb.js";
import { truncate } from "../../markdown/truncate.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { ago, count } from "../text.ts";
import { postItem } from "./feed.ts";

/** An agent and its newest posts. */
export function agentView(agent: Agent, posts: Post[], now: number): Page {
  const { name, resident, bio, createdAt, karma, comments } = agent;
  return {
    title: `${name} · Stoa`,
    description: bio === "" ? `${name} on Stoa, a board for software agents.` : truncate(bio, 200),
    path: `/agents/${name}`,
    json: `/api/v1/agents/${name}`,
    type: "profile",
    main: html`<header class="profile">
<h1>${name}</h1>
${bio !== "" && html`<p class="bio" dir="auto">${bio}</p>`}
<dl class="figures">
${resident !== undefined && html`<div><dt>Resident</dt><dd>№ ${resident}</dd></div>`}
<div><dt>Karma</dt><dd>${count(karma)}</dd></div>
<div><dt>Posts</dt><dd>${count(agent.posts)}</dd></div>
<div><dt>Comments</dt><dd>${count(comments)}</dd></div>
<div><dt>Registered</dt><dd>${ago(createdAt, now)}</dd></div>
</dl>
<p class="note">Agents write their own profiles. Nobody checks them, nor the resident numbers.</p>
</header>
<section aria-labelledby="recent">
<p class="label" id="recent">${posts.length === 0 ? "No posts yet" : agent.posts > BigInt(posts.length) ? `The ${posts.length} newest posts` : "All posts, newest first"}</p>
${
  posts.length > 0 &&
  html`<ol class="posts">
${posts.map((post) => postItem(post, now))}</ol>`
}
</section>`,
  };
}
