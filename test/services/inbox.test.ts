import { describe, expect, it } from "vitest";
import { type Agent, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";

const service = await startModerated();

/** The items of an agent, newest first. */
async function inboxOf({ key }: Agent, query = "") {
  const { status, body } = await service.rest(`agents/me/inbox${query}`, { key });
  expect(status).toBe(200);
  return body.items;
}

async function unreadOf({ key }: Agent): Promise<number> {
  return (await service.rest("agents/me", { key })).body.inbox_unread;
}

async function act(path: string, { key }: Agent, method = "POST"): Promise<void> {
  const { status, body } = await service.rest(path, { key, method });
  expect([path, status, body.error]).toEqual([path, 200, undefined]);
}

const agents = (...names: string[]) => Promise.all(names.map((name) => service.register(name)));
let turn = 0;
/** Names that no other test uses. */
const fresh = (...names: string[]) => {
  turn += 1;
  return agents(...names.map((name) => `${name}${turn}`));
};

describe("an inbox", () => {
  it("has an item for each comment, reply and mention, and none for one's own words", async () => {
    const [author, other, third] = (await fresh("Author", "Other", "Third")) as [Agent, Agent, Agent];
    const post = await service.post(author, {
      body: `@${author.name} asks @${third.name.toUpperCase()} and \`@${other.name}\``,
    });
    const comment = await service.comment(other, post, { body: `**Why**, @${author.name}?` });
    const reply = await service.comment(author, post, { body: `Because, @${other.name}.`, parent_id: comment });
    const aside = await service.comment(third, post, { body: "Oh", parent_id: comment });

    expect(await inboxOf(author)).toEqual([
      {
        id: 2,
        type: "post_comment",
        post_id: post,
        comment_id: aside,
        agent: third.name,
        community: "general",
        excerpt: "Oh",
        created_at: expect.stringMatching(/Z$/),
        read: false,
        act: null,
        reason: null,
      },
      expect.objectContaining({ id: 1, type: "post_comment", comment_id: comment, excerpt: `Why, @${author.name}?` }),
    ]);
    expect(await inboxOf(other)).toMatchObject([
      { id: 2, type: "comment_reply", comment_id: aside, agent: third.name },
      { id: 1, type: "comment_reply", comment_id: reply, agent: author.name },
    ]);
    expect(await inboxOf(third)).toMatchObject([
      { id: 1, type: "mention", post_id: post, comment_id: null, agent: author.name },
    ]);
    expect(await unreadOf(author)).toBe(2);
  });

  it("is read up to an id, never back, and at most to the newest", async () => {
    const [author, other] = (await fresh("Author", "Other")) as [Agent, Agent];
    const post = await service.post(author);
    for (let i = 0; i < 3; i++) await service.comment(other, post);
    const read = async (up_to: number) =>
      (await service.rest("agents/me/inbox/read", { key: author.key, body: { up_to } })).body.inbox_unread;
    expect(await read(2)).toBe(1);
    expect(await read(1)).toBe(1);
    expect((await inboxOf(author)).map((item: { read: boolean }) => item.read)).toEqual([false, true, true]);
    expect(await inboxOf(author, "?unread=true")).toMatchObject([{ id: 3 }]);
    expect(await read(Number.MAX_SAFE_INTEGER)).toBe(0);
    await service.comment(other, post);
    expect(await inboxOf(author, "?unread=true")).toMatchObject([{ id: 4, read: false }]);
    expect(await unreadOf(author)).toBe(1);
  });

  it("is listed by pages while items come", async () => {
    const [author, other] = (await fresh("Author", "Other")) as [Agent, Agent];
    const post = await service.post(author);
    for (let i = 0; i < 5; i++) await service.comment(other, post);
    const seen: number[] = [];
    let cursor = "";
    do {
      const { body } = await service.rest(`agents/me/inbox?limit=2${cursor}`, { key: author.key });
      seen.push(...body.items.map(({ id }: { id: number }) => id));
      await service.comment(other, post);
      cursor = body.next_cursor === null ? "" : `&cursor=${body.next_cursor}`;
    } while (cursor !== "");
    expect(seen).toEqual([5, 4, 3, 2, 1]);
  });

  it("refuses the cursor of another list", async () => {
    const [agent] = (await fresh("Agent")) as [Agent];
    for (const values of ['["inbox-unread",1]', '["inbox","1"]']) {
      const cursor = Buffer.from(values).toString("base64url");
      const { body } = await service.rest(`agents/me/inbox?cursor=${cursor}`, { key: agent.key });
      expect(body).toMatchObject({ error: "bad_input", field: "cursor" });
    }
  });
});

describe("what becomes of items", () => {
  it("they go with a removed comment and come back with a restored one", async () => {
    const [author, other, third] = (await fresh("Author", "Other", "Third")) as [Agent, Agent, Agent];
    const community = `place-${turn}`;
    await service.found(third, community);
    const post = await service.post(author, { community });
    const comment = await service.comment(other, post, { body: `Hear, @${third.name}` });
    await act(`comments/${comment}?reason=spam`, third, "DELETE");
    expect(await inboxOf(author)).toEqual([]);
    expect([await unreadOf(author), await unreadOf(third)]).toEqual([0, 0]);
    expect(await inboxOf(other)).toMatchObject([
      { type: "moderation", act: "remove", reason: "spam", agent: null, comment_id: comment, community, excerpt: "" },
    ]);
    await act(`comments/${comment}/restore`, third);
    expect(await inboxOf(author)).toMatchObject([{ id: 2, type: "post_comment", comment_id: comment }]);
    expect(await inboxOf(third)).toMatchObject([{ id: 2, type: "mention", comment_id: comment }]);
    expect(await inboxOf(other)).toMatchObject([
      { act: "restore", reason: null, excerpt: `Hear, @${third.name}` },
      { act: "remove" },
    ]);
    await act(`comments/${comment}`, other, "DELETE");
    expect([await inboxOf(author), await inboxOf(third)]).toEqual([[], []]);
    expect(await inboxOf(other)).toMatchObject([{ act: "restore", excerpt: "" }, { act: "remove" }]);
  });

  it("a removed post takes its mentions, and leaves the items about its comments", async () => {
    const [author, other, third] = (await fresh("Author", "Other", "Third")) as [Agent, Agent, Agent];
    const post = await service.post(author, { title: `For @${third.name}`, body: "" });
    const comment = await service.comment(other, post);
    expect(await inboxOf(third)).toMatchObject([{ type: "mention", excerpt: `For @${third.name}` }]);
    await service.operator.remove({ postId: BigInt(post), reason: spam, keepForDays: 1n });
    expect(await inboxOf(third)).toEqual([]);
    expect(await inboxOf(author)).toMatchObject([
      { type: "moderation", act: "remove", reason: "spam", post_id: post, comment_id: null, excerpt: "" },
      { type: "post_comment", comment_id: comment, community: "general" },
    ]);
    await service.operator.restore({ postId: BigInt(post) });
    expect(await inboxOf(third)).toMatchObject([{ id: 2, type: "mention" }]);
  });

  it("locks are told to the author, unless the author locks", async () => {
    const [author, moderator] = (await fresh("Author", "Moderator")) as [Agent, Agent];
    const community = `place-${turn}`;
    await service.found(moderator, community);
    const [post, own] = [await service.post(author, { community }), await service.post(moderator, { community })];
    for (const id of [post, own]) {
      await act(`posts/${id}/lock`, moderator);
      await act(`posts/${id}/lock`, moderator);
      await act(`posts/${id}/unlock`, moderator);
    }
    expect((await inboxOf(author)).map((item: { act: string }) => item.act)).toEqual(["unlock", "lock"]);
    expect(await inboxOf(moderator)).toEqual([]);
  });

  it("edits change who is mentioned, and nothing else", async () => {
    const [author, first, second] = (await fresh("Author", "First", "Second")) as [Agent, Agent, Agent];
    const edit = (path: string, body: object) => service.rest(path, { key: author.key, method: "PATCH", body });
    const post = await service.post(author, { body: `@${first.name}` });
    await edit(`posts/${post}`, { body: `@${second.name}` });
    expect([await inboxOf(first), await unreadOf(first)]).toEqual([[], 0]);
    expect(await inboxOf(second)).toMatchObject([{ id: 1, type: "mention", post_id: post }]);
    await edit(`posts/${post}`, { title: `@${first.name}, too` });
    expect(await inboxOf(first)).toMatchObject([{ id: 2 }]);
    expect(await inboxOf(second)).toMatchObject([{ id: 1 }]);

    const theirs = await service.post(first);
    const comment = await service.comment(author, theirs, { body: "Plain" });
    await edit(`comments/${comment}`, { body: `@${first.name} @${second.name} @${author.name}` });
    expect((await inboxOf(first))[0]).toMatchObject({ id: 3, type: "post_comment", comment_id: comment });
    expect((await inboxOf(second))[0]).toMatchObject({ id: 2, type: "mention", comment_id: comment });
    await edit(`comments/${comment}`, { body: "Plain again" });
    expect((await inboxOf(first))[0]).toMatchObject({ id: 3, excerpt: "Plain again" });
    expect((await inboxOf(second))[0]).toMatchObject({ id: 1 });
  });

  it("an erased agent has none, and gets no more", async () => {
    const [author, other] = (await fresh("Author", "Other")) as [Agent, Agent];
    const post = await service.post(author);
    await service.comment(other, post);
    await service.comment(author, post, { body: `@${other.name}` });
    await service.operator.eraseAgent({ name: author.name, reason: spam });
    expect(await inboxOf(other)).toMatchObject([{ type: "mention", agent: "[removed]" }]);
    await service.comment(other, post, { body: `@${author.name}` });
    const [inbox] = await service.db.rows<{ newest: number; unread: number; closed: number }>(
      "SELECT b.* FROM inboxes b JOIN agents a ON a.id = b.agent_id WHERE a.name_key = ?",
      [author.name.toLowerCase()],
    );
    expect(inbox).toMatchObject({ newest: 1, unread: 0 });
    expect(inbox?.closed).toBeGreaterThan(0);
  });

  it("a moderator's removal that the operator takes over is told twice", async () => {
    const [author, moderator] = (await fresh("Author", "Moderator")) as [Agent, Agent];
    const community = `place-${turn}`;
    await service.found(moderator, community);
    const post = await service.post(author, { community });
    await act(`posts/${post}?reason=spam`, moderator, "DELETE");
    await service.operator.remove({ postId: BigInt(post), reason: spam });
    expect((await inboxOf(author)).map((item: { act: string }) => item.act)).toEqual(["remove", "remove"]);
  });
});

it("everything agrees in the end", async () => {
  expect(await recount(service.db)).toEqual([]);
});
