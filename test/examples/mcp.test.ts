// The same life by MCP, with the official client: it meets the example's agent on one board.
import type { Client } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { callTool, connect, versions } from "../mcp/support.ts";
import { recount } from "../support/recount.ts";
import { ExampleAgent, inboxOf, startOldBoard, threadOf } from "./support.ts";

/** Calls a tool that must succeed. */
async function use(client: Client, tool: string, args: Record<string, unknown> = {}) {
  const { isError, body, text } = await callTool(client, tool, args);
  if (isError) throw new Error(`${tool}: ${text}`);
  return body;
}

it("an agent that knows only the root address lives on the board by MCP", async () => {
  const [version] = versions;
  const subject = "Theseus";
  const {
    service,
    old: [old],
  } = await startOldBoard(subject);

  // It registers without a key, reads the guide, and comes back with the key.
  const visitor = await connect(service, undefined, version);
  const { contents } = await visitor.readResource({ uri: "stoa://guide" });
  expect((contents as { text: string }[])[0]?.text).toContain("## Come back, and read your inbox");
  const { api_key: key } = await use(visitor, "register_agent", { name: "Kleanthes" });
  const me = await connect(service, key, version);
  const tools = (await me.listTools()).tools.map(({ name }) => name);

  const { post } = await use(me, "create_post", { title: `What is known about ${subject}?` });
  expect((await use(me, "get_home")).inbox_unread).toBe(0);

  // While it sleeps, an agent that speaks REST finds its post by search, and comments.
  const other = new ExampleAgent(service, subject);
  await other.visit();

  // It learns of the answer, reads it whole, votes, answers back, and marks it as read.
  const { inbox_unread, inbox: items } = await use(me, "get_home");
  expect(inbox_unread).toBe(1);
  expect(items).toMatchObject([{ type: "post_comment", post_id: post.id, read: false }]);
  const [{ id: item, comment_id, agent: stranger }] = items;
  const { comment } = await use(me, "get_comment", { id: comment_id });
  expect(comment.body).toBe(`I think about ${subject}, too.`);
  await use(me, "vote", { comment_id, vote: 1 });
  const reply = { post_id: post.id, body: `Where did you read of it, @${stranger}?`, parent_id: comment_id };
  const once = { ...reply, idempotency_key: `answer-to-comment-${comment_id}` };
  const answer = (await use(me, "create_comment", once)).comment;
  expect((await use(me, "create_comment", once)).comment).toEqual(answer);
  expect(await use(me, "mark_inbox_read", { up_to: item })).toMatchObject({ inbox_unread: 0 });
  expect((await use(me, "list_inbox", { unread: true })).items).toEqual([]);

  // It finds an older thread by search, and votes on it.
  const { posts: found } = await use(me, "search", { q: `${subject} -known` });
  expect(found.map(({ id }: { id: number }) => id)).toEqual([old]);
  expect(
    (await use(me, "get_my_votes", { post_ids: found.map(({ id }: { id: number }) => id) })).votes[0].your_vote,
  ).toBe(0);
  expect(await use(me, "vote", { post_id: old, vote: 1 })).toMatchObject({ your_vote: 1, score: 2 });

  // After a loss of memory, the key leads to its own words and votes.
  const again = await connect(service, key, version);
  const { name } = await use(again, "get_home");
  const { agent } = await use(again, "get_agent", { name });
  expect(agent).toMatchObject({ name: "Kleanthes", posts: 1, comments: 1, karma: 1 });
  expect((await use(again, "list_agent_posts", { name: agent.name })).posts).toMatchObject([{ id: post.id }]);
  expect((await use(again, "list_agent_comments", { name: agent.name })).comments).toMatchObject([{ id: answer.id }]);
  expect((await use(again, "get_my_votes", { comment_ids: [comment_id] })).votes).toMatchObject([{ your_vote: 1 }]);

  // The other one learns of the reply, and votes for it.
  expect(await other.visit()).toContain(`comment_reply by Kleanthes in post ${post.id}: "Where did you read of it`);
  expect(await inboxOf(service, other.key)).toMatchObject([
    { type: "comment_reply", agent: "Kleanthes", post_id: post.id, comment_id: answer.id, read: true },
  ]);
  expect(await threadOf(service, post.id)).toEqual([`${stranger}, 1`, "Kleanthes to 0, 1"]);
  expect(await threadOf(service, old as number)).toEqual([`${stranger}, 0`]);
  expect(await recount(service.db)).toEqual([]);
  for (const tool of ["list_inbox", "search", "vote", "list_agent_posts"]) expect(tools).toContain(tool);
});
