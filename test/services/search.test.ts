// Search: what is found, in which order, by pages, and what is refused. test/board/search has texts and queries of every kind.
import { describe, expect, it } from "vitest";
import { type Agent, spam, startModerated } from "../support/moderation.ts";

const service = await startModerated();
const zeno = await service.register("Zeno");
const chrysippus = await service.register("Chrysippus");
const place = { name: "ship-yard", title: "Ships", description: "Of planks and sails" };
await service.rest("communities", { key: zeno.key, body: place });

const post = (agent: Agent, title: string, body = "", community = "general") =>
  service.post(agent, { title, body, community });
const comment = (agent: Agent, postId: number, body: string) => service.comment(agent, postId, { body });

async function search(query: Record<string, string | number>) {
  const text = new URLSearchParams(query as Record<string, string>);
  return service.rest(`search?${text}`);
}

async function idsOf(query: Record<string, string | number>): Promise<number[]> {
  const { status, body } = await search(query);
  expect(status, JSON.stringify(body)).toBe(200);
  return [...body.posts, ...body.comments].map(({ id }) => id);
}

describe("what is found", () => {
  it("finds posts by all words of title and body, as whole posts", async () => {
    const id = await post(zeno, "Aporetic questions", "Is the Ship of Theseus the same?", "ship-yard");
    const { body } = await search({ q: "SHIP aporetic" });
    const whole = (await service.rest(`posts/${id}`)).body.post;
    expect(body).toEqual({
      ok: true,
      posts: [whole],
      comments: [],
      communities: [],
      agents: [],
      next_cursor: null,
      post_titles: [],
    });
    expect(await idsOf({ q: "aporetic kraken" })).toEqual([]);
  });

  it("finds stop words, short words and parts of words", async () => {
    const id = await post(zeno, "To be or not", "x of the C++ node.js snake_case zq");
    for (const q of ["to be or not", "x of", "c++ to", '"snake case"', "node.js to", "js snake", "zq"])
      expect(await idsOf({ q }), q).toContain(id);
    for (const q of ["nod", "node.css", '"case snake"', "js.node", "snak", 'be -"snake case"'])
      expect(await idsOf({ q }), q).not.toContain(id);
  });

  it("finds Chinese, Japanese, Korean and Thai within longer texts", async () => {
    const id = await post(
      zeno,
      "多言語の投稿",
      "我喜欢使用智能手机阅读。カタカナ 한국어를 공부합니다 สวัสดีชาวโลก ABC漢字DEF",
    );
    for (const q of ["智能手机", "手", "ｶﾀｶﾅ", "공부", "ชาว", "漢字def"]) expect(await idsOf({ q }), q).toEqual([id]);
    for (const q of ["机手", "机智", "어한"]) expect(await idsOf({ q }), q).toEqual([]);
  });

  it("finds comments, communities and agents as whole resources", async () => {
    const on = await post(zeno, "A walrus");
    const id = await comment(chrysippus, on, "Walruses argue");
    expect(await idsOf({ q: "walruses", type: "comments" })).toEqual([id]);
    expect((await search({ q: "walruses", type: "comments" })).body.comments).toEqual([
      (await service.rest(`comments/${id}`)).body.comment,
    ]);
    expect((await search({ q: "walruses", type: "comments" })).body.post_titles).toEqual([
      { id: on, title: "A walrus" },
    ]);
    for (const q of ["yard ships", "sails"]) {
      const { communities } = (await search({ q, type: "communities" })).body;
      expect(communities).toEqual([(await service.rest("communities/ship-yard")).body.community]);
    }
    const { agents } = (await search({ q: "ZENO", type: "agents" })).body;
    expect(agents).toEqual([(await service.rest("agents/zeno")).body.agent]);
  });

  it("filters by community and author", async () => {
    const one = await post(zeno, "Narwhal", "", "ship-yard");
    const two = await post(chrysippus, "Narwhal");
    const three = await comment(chrysippus, one, "narwhal");
    expect(await idsOf({ q: "narwhal", community: "ship-yard" })).toEqual([one]);
    expect(await idsOf({ q: "narwhal", author: "chrysippus" })).toEqual([two]);
    expect(await idsOf({ q: "narwhal", author: "chrysippus", community: "ship-yard" })).toEqual([]);
    const comments = { q: "narwhal", type: "comments" };
    expect(await idsOf({ ...comments, author: "Chrysippus", community: "ship-yard" })).toEqual([three]);
    expect(await idsOf({ ...comments, author: "zeno" })).toEqual([]);
  });

  it("puts the best matches first, or the newest", async () => {
    const title = await post(zeno, "Okapi", "once");
    const often = await post(zeno, "Animals", "okapi okapi");
    const once = await post(zeno, "More animals", "an okapi");
    expect(await idsOf({ q: "okapi" })).toEqual([title, often, once]);
    expect(await idsOf({ q: "okapi", sort: "new" })).toEqual([once, often, title]);
  });
});

describe("what changes", () => {
  it("follows edits", async () => {
    const id = await post(zeno, "Before the edit", "capybara");
    await service.rest(`posts/${id}`, { key: zeno.key, method: "PATCH", body: { body: "tapir" } });
    expect(await idsOf({ q: "capybara" })).toEqual([]);
    expect(await idsOf({ q: "tapir edit" })).toEqual([id]);
    const reply = await comment(zeno, id, "ibex");
    await service.rest(`comments/${reply}`, { key: zeno.key, method: "PATCH", body: { body: "oryx" } });
    expect(await idsOf({ q: "ibex", type: "comments" })).toEqual([]);
    expect(await idsOf({ q: "oryx", type: "comments" })).toEqual([reply]);
  });

  it("does not find what is removed, until it is restored", async () => {
    const id = await post(zeno, "Pangolin", "in the post");
    const reply = await comment(zeno, id, "pangolin");
    const item = { postId: BigInt(id) };
    const other = { commentId: BigInt(reply) };
    await service.operator.remove({ ...item, reason: spam, keepForDays: 7n });
    await service.operator.remove({ ...other, reason: spam, keepForDays: 7n });
    expect(await idsOf({ q: "pangolin" })).toEqual([]);
    expect(await idsOf({ q: "pangolin", type: "comments" })).toEqual([]);
    // Nothing of the text is left.
    expect(await service.db.rows("SELECT 1 FROM search_posts WHERE tokens LIKE '%pangolin%'")).toEqual([]);
    await service.operator.restore(item);
    await service.operator.restore(other);
    expect(await idsOf({ q: "pangolin post" })).toEqual([id]);
    expect(await idsOf({ q: "pangolin", type: "comments" })).toEqual([reply]);
  });

  it("follows changes of communities and the erasure of agents", async () => {
    await service.operator.updateCommunity({ name: "ship-yard", description: "Of anchors" });
    expect((await search({ q: "sails", type: "communities" })).body.communities).toEqual([]);
    expect((await search({ q: "anchors", type: "communities" })).body.communities).toHaveLength(1);
    const agent = await service.register("Lemur");
    expect((await search({ q: "lemur", type: "agents" })).body.agents).toHaveLength(1);
    await service.operator.eraseAgent({ name: agent.name, reason: spam });
    expect((await search({ q: "lemur", type: "agents" })).body.agents).toEqual([]);
    expect((await search({ q: "removed", type: "agents" })).body.agents).toEqual([]);
    expect((await search({ q: "lemur", author: "lemur" })).body).toMatchObject({ error: "not_found", field: "author" });
  });

  it("does not show what a version without search has removed", async () => {
    const ids = [];
    for (let i = 0; i < 6; i++) ids.unshift(await post(zeno, `Dugong ${i}`));
    await service.db.rows("DELETE FROM posts WHERE id IN (?)", [[ids[1], ids[2]]]);
    const { posts, next_cursor: cursor } = (await search({ q: "dugong", limit: 2 })).body;
    expect(posts.map(({ id }: { id: number }) => id)).toEqual([ids[0], ids[3]]);
    expect(await idsOf({ q: "dugong", limit: 2, cursor })).toEqual([ids[4], ids[5]]);
  });
});

describe("pages", () => {
  it.each(["relevance", "new"])("show each result once while others write, by %s", async (sort) => {
    const word = `gecko${sort}`;
    const expected: number[] = [];
    for (let i = 0; i < 13; i++) expected.unshift(await post(zeno, `${word} ${i % 2 === 0 ? word : "x"}`, ""));
    const seen: number[] = [];
    let cursor: string | undefined;
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      const { status, body } = await search({ q: word, sort, limit: 5, ...(cursor === undefined ? {} : { cursor }) });
      expect(status).toBe(200);
      expect(body.posts.length).toBe(page < 2 ? 5 : 3);
      seen.push(...body.posts.map(({ id }: { id: number }) => id));
      cursor = body.next_cursor ?? undefined;
      // They come first in both orders, and change every rank.
      await post(zeno, `${word} ${word} ${word}`);
      for (let i = 0; i < 5; i++) await post(zeno, `Noise ${i}`);
    }
    expect(seen.toSorted((a, b) => b - a)).toEqual(expected);
    if (sort === "new") expect(seen).toEqual(expected);
  });

  it("refuses the cursor of another search", async () => {
    for (let i = 0; i < 3; i++) await post(zeno, `Axolotl ${i}`);
    const query = { q: "axolotl", limit: 1 };
    const cursor: string = (await search(query)).body.next_cursor;
    expect(cursor).toMatch(/./);
    for (const other of [{ q: "axolotls" }, { sort: "new" }, { type: "comments" }, { author: "zeno" }]) {
      const { status, body } = await search({ ...query, cursor, ...other });
      expect([status, body.error, body.field]).toEqual([400, "bad_input", "cursor"]);
    }
    for (const values of ["x", ""]) {
      const { status, body } = await search({ ...query, cursor: values });
      expect([status, body.error, body.field], values).toEqual([400, "bad_input", "cursor"]);
    }
  });
});

// A name that nobody has, also one that is a pattern of SQL, and what only lists of words have.
it.each([
  [{ q: "-ship" }, 400, "bad_input", "q"],
  [{ q: "ship", type: "receipts" }, 400, "bad_input", "type"],
  [{ q: "ship", community: "nowhere" }, 404, "not_found", "community"],
  [{ q: "ship", author: "%" }, 404, "not_found", "author"],
  [{ q: "ship", type: "agents", author: "zeno" }, 400, "bad_input", "author"],
  [{ q: "ship", type: "communities", community: "general" }, 400, "bad_input", "community"],
])("%j is refused", async (query, expected, error, field) => {
  const { status, body } = await search(query as Record<string, string>);
  expect([status, body.error, body.field]).toEqual([expected, error, field]);
});
