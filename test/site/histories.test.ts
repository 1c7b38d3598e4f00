// The pages of comments, sorted threads, and what an agent wrote.
import { describe, expect, it } from "vitest";
import { type Agent, spam, startModerated } from "../support/moderation.ts";
import { nextIn, pagesOf } from "./get.ts";

const service = await startModerated();
const author = await service.register("Zeno");
const reader = await service.register("Kleanthes");

const get = pagesOf(service);

const idsIn = (text: string) => [...text.matchAll(/<li class="comment d\d" id="c(\d+)"/g)].map(([, id]) => Number(id));
const upvote = (id: number, { key }: Agent) => service.rest(`comments/${id}/upvote`, { key, method: "POST" });

/** Adds comments to a post by one statement. @returns the ids of all that have this parent */
async function addComments(post: number, count: number, { parent = null as number | null, body = "One" }) {
  const rows = Array.from({ length: count }, () => [post, parent, body, 1, 1]);
  await service.db.pool.query("INSERT INTO comments (post_id, parent_id, body, created_at, author_id) VALUES ?", [
    rows,
  ]);
  const of = "SELECT id FROM comments WHERE post_id = ? AND parent_id <=> ? ORDER BY id";
  return (await service.db.rows<{ id: number }>(of, [post, parent])).map(({ id }) => id);
}

describe("the page of a comment", () => {
  it("shows the comment, its votes, what it replies to, and the way to its post and its place in the thread", async () => {
    const post = await service.post(author, { title: "On <walking>", body: "The post's own text" });
    const parent = await service.comment(reader, post, { body: "Where *to*?" });
    const id = await service.comment(author, post, { body: "To the **porch**.", parent_id: parent });
    const aside = await service.comment(reader, post, { body: "An aside" });
    await upvote(id, reader);
    const { status, text } = await get(`/comments/${id}`);
    expect(status).toBe(200);
    expect(text.match(/<h1\b/g)).toHaveLength(1);
    expect(text).toContain(`<a href="/posts/${post}"><bdi>On &lt;walking&gt;</bdi></a>`);
    expect(text).toContain("To the <strong>porch</strong>.");
    expect(text).toContain("Where <em>to</em>?");
    expect(text).toContain(`href="/comments/${parent}"`);
    expect(text).toContain(`href="/posts/${post}#c${id}"`);
    expect(text).toContain('<span title="1 vote up, 0 down">1 point</span>');
    expect(text).toContain(`<link rel="canonical" href="${service.url}/comments/${id}">`);
    expect(text).toContain('<meta name="description" content="To the porch.">');
    expect(text).not.toContain("An aside");
    expect((await get(`/posts/${post}`)).text).toContain(`<a class="when" href="/comments/${aside}">`);
  });

  it("shows the direct replies, up to 50", async () => {
    const post = await service.post(author);
    const parent = await service.comment(author, post, { body: "A question" });
    const ids = await addComments(post, 50, { parent });
    expect((await get(`/comments/${parent}`)).text).not.toContain("More replies");
    await addComments(post, 1, { parent });
    await service.comment(author, post, { body: "An answer to an answer", parent_id: ids[0] as number });
    const { text } = await get(`/comments/${parent}`);
    expect(idsIn(text)).toEqual(ids);
    expect(text).toContain(`<a href="/posts/${post}#c${parent}">More replies in the thread</a>`);
    expect(text).not.toContain("An answer to an answer");
  });

  it("leads to the page of the thread that has the comment", async () => {
    const post = await service.post(author);
    // The longest comments, of which the fewest fit on a page. Those of other posts take ids, too.
    const body = "\u{1f3db}".repeat(5000);
    await addComments(post, 20, { body });
    await addComments(await service.post(author), 3, { body });
    const ids = await addComments(post, 37, { body });
    for (const id of [ids[0], ids[20], ids[28], ids[40], ids.at(-1)] as number[]) {
      const link = /<a href="([^"#]+)#c(\d+)">In the thread/.exec((await get(`/comments/${id}`)).text);
      expect(link?.[2]).toBe(String(id));
      const { status, text } = await get(link?.[1] as string);
      expect(status).toBe(200);
      expect(idsIn(text)).toContain(id);
      expect(idsIn(text)[0]).toBe(id <= (ids[20] as number) ? ids[0] : id);
    }
    expect((await get(`/posts/${post}?from=0`)).status).toBe(400);
  });

  it("of a suspended agent says why it may not write, and until when", async () => {
    const { name } = await service.register();
    const until = { seconds: BigInt(Date.parse("2999-12-31T12:30:00Z") / 1000), nanos: 0 };
    await service.operator.suspendAgent({ name, reason: spam, until });
    for (const path of [`/agents/${name}`, `/agents/${name}/comments`]) {
      const { text } = await get(path);
      expect(text).toMatch(/suspended this agent until <time [^>]+>2999-12-31 12:30 UTC<\/time>.* Reason: spam\./);
    }
    await service.operator.unsuspendAgent({ name });
    expect((await get(`/agents/${name}`)).text).not.toContain("suspended");
  });

  it("of a removed comment or post holds neither its text nor its author, and is not listed by search engines", async () => {
    const post = await service.post(reader, { title: "Hidden title", body: "Hidden body" });
    const id = await service.comment(author, post, { body: "hidden words" });
    const answer = await service.comment(reader, post, { body: "An answer", parent_id: id });
    await service.operator.remove({ commentId: BigInt(id), reason: spam, keepForDays: 1n });
    for (const path of [`/comments/${id}`, `/comments/${answer}`]) {
      const { status, text } = await get(path);
      expect(status).toBe(200);
      expect(text).toContain("The operator removed this comment. Reason: spam.");
      expect(text).not.toContain("hidden words");
      expect(text).not.toContain("Zeno");
      expect(text).toContain("An answer");
      expect(text.includes("noindex")).toBe(path === `/comments/${id}`);
    }
    expect((await get("/agents/Zeno/comments")).text).not.toContain("hidden words");
    await service.operator.remove({ postId: BigInt(post), reason: spam, keepForDays: 1n });
    const { text } = await get(`/comments/${answer}`);
    expect(text).toContain("An answer");
    expect(text).toContain("noindex");
    expect(text).not.toMatch(/Hidden (?:title|body)/);
  });

  it("is an error page where there is none", async () => {
    expect([(await get("/comments/999999")).status, (await get("/comments/0")).status]).toEqual([404, 400]);
  });
});

describe("a thread", () => {
  it("is shown in the order that its address names, over its pages", async () => {
    const post = await service.post(author);
    const ids: number[] = [];
    for (let n = 0; n < 3; n++) ids.push(await service.comment(author, post, { body: `Comment ${n}` }));
    const [first, second, third] = ids as [number, number, number];
    await upvote(second, reader);
    expect(idsIn((await get(`/posts/${post}`)).text)).toEqual([first, second, third]);
    expect(idsIn((await get(`/posts/${post}?sort=old`)).text)).toEqual([first, second, third]);
    expect(idsIn((await get(`/posts/${post}?sort=new`)).text)).toEqual([third, second, first]);
    const { text } = await get(`/posts/${post}?sort=top`);
    expect(idsIn(text)).toEqual([second, third, first]);
    expect(text).toContain(`<a href="/posts/${post}?sort=top#comments" aria-current="page">Top</a>`);
    expect(text).toContain(`<a href="/posts/${post}?sort=new#comments">Newest</a>`);
    expect(text).toContain(`<link rel="canonical" href="${service.url}/posts/${post}">`);
    expect((await get(`/posts/${post}?sort=hot`)).status).toBe(400);
  });

  it("keeps its order on the next page", async () => {
    const post = await service.post(author);
    await addComments(post, 260, {});
    for (const sort of ["new", "top"]) {
      const first = (await get(`/posts/${post}?sort=${sort}`)).text;
      const second = (await get(nextIn(first))).text;
      const ids = [...idsIn(first), ...idsIn(second)];
      expect(ids).toHaveLength(260);
      expect(ids).toEqual(ids.toSorted((a, b) => b - a));
      expect(nextIn(second)).toBe(undefined);
    }
  });
});

describe("the pages of an agent", () => {
  it("list all of its posts and comments, newest first", async () => {
    const agent = await service.register();
    expect((await get(`/agents/${agent.name}`)).text).toContain("There are no posts yet.");
    expect((await get(`/agents/${agent.name}/comments`)).text).toContain("There are no comments yet.");
    const posts: number[] = [];
    const comments: number[] = [];
    for (let n = 0; n < 27; n++) {
      posts.push(await service.post(agent));
      comments.push(await service.comment(agent, posts[0] as number, { body: `Comment **${n}**` }));
    }
    for (const [path, made, link] of [
      [`/agents/${agent.name}`, posts, /<h2><a href="\/posts\/(\d+)"/g],
      [`/agents/${agent.name}/comments`, comments, /<a class="when" href="\/comments\/(\d+)"/g],
    ] as const) {
      const first = (await get(path)).text;
      const second = (await get(nextIn(first))).text;
      const listed = [first, second].flatMap((text) => [...text.matchAll(link)].map(([, id]) => Number(id)));
      expect(listed).toEqual(made.toReversed());
      expect(nextIn(second)).toBe(undefined);
      expect(first).toContain(`<link rel="canonical" href="${service.url}${path}">`);
      expect(second).toContain("noindex");
      expect(second).toContain(`<a href="${path}" rel="first">`);
    }
    const { text } = await get(`/agents/${agent.name}/comments`);
    expect(text).toContain('<p class="excerpt" dir="auto">Comment 26</p>');
    const { title } = (await service.rest(`posts/${posts[0]}`)).body.post;
    expect(text).toContain(`on <a href="/posts/${posts[0]}"><bdi>${title}</bdi></a>`);
    await service.operator.remove({ postId: BigInt(posts[0] as number), reason: spam });
    expect((await get(`/agents/${agent.name}/comments`)).text).toContain(
      `on <a href="/posts/${posts[0]}"><bdi>post ${posts[0]}</bdi></a>`,
    );
    expect((await get(`/agents/${agent.name}?cursor=x`)).status).toBe(400);
    expect((await get("/agents/Nobody/comments")).status).toBe(404);
  });
});
