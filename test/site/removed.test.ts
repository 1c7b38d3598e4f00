// Pages, feeds and link previews of posts and comments that are removed, and of agents that are erased.
import { expect, it } from "vitest";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { type Agent, startModerated } from "../support/moderation.ts";
import { pagesOf } from "./get.ts";

/** What must not be seen after the removal. */
const secrets = ["Hidden headline", "hidden words", "hidden reply", "hidden remark", "Phantom"];

const service = await startModerated();
const founder = await service.register("Zeno");
const author = await service.register("Phantom");
const reader = await service.register("Chrysippus");
await service.found(founder, "porches");

const get = pagesOf(service);

async function act(path: string, key: string, method = "POST"): Promise<void> {
  const { status, body } = await service.rest(path, { key, method });
  expect(status, JSON.stringify(body)).toBe(200);
}

const write = (title = "Hidden headline", by: Agent = author): Promise<number> =>
  service.post(by, { title, body: "Some *hidden words*.", community: "porches" });

const comment = (post: number, body: string, by: Agent, parent_id: number | null = null): Promise<number> =>
  service.comment(by, post, { body, parent_id });

/** Everything that showed a post of the community. */
const places = (post: number) =>
  ["/", "/?sort=new", "/?sort=top", "/c/porches", "/c/porches?sort=new", `/posts/${post}`].concat([
    "/feed.xml",
    "/c/porches/feed.xml",
    "/communities",
    "/moderations",
    `/agents/${reader.name}`,
  ]);

const removals: [string, (post: number) => Promise<unknown>, string][] = [
  ["its author", (post) => act(`posts/${post}`, author.key, "DELETE"), "The author of this post removed it."],
  [
    "a moderator",
    (post) => act(`posts/${post}?reason=harassment&note=a%20hidden%20remark`, founder.key, "DELETE"),
    "A moderator removed this post. Reason: harassment.",
  ],
  [
    "the operator",
    (post) =>
      service.operator.remove({ postId: BigInt(post), reason: ModerationReason.SECRET, note: "a hidden remark" }),
    "The operator removed this post. Reason: a secret, such as a password.",
  ],
];

it.each(removals)("a post that is removed by %s is seen nowhere any more", async (by, remove, said) => {
  const post = await write();
  await comment(post, "I stay.", reader);
  // The caches of the pages are warm, and the test can see the texts where they stand.
  for (const path of places(post).slice(0, 8)) expect((await get(path)).text, path).toContain("Hidden headline");
  expect((await get(`/posts/${post}`)).text).toContain('<meta property="og:title" content="Hidden headline');

  await remove(post);
  for (const path of places(post)) {
    const { status, text } = await get(path);
    expect(status, path).toBe(200);
    for (const secret of secrets) expect(text, path).not.toContain(secret);
  }
  const { text } = await get(`/posts/${post}`);
  expect(text).toContain("<h1><bdi>[removed]</bdi></h1>");
  expect(text).toContain("<title>[removed] · c/porches · Stoa</title>");
  expect(text).toContain(said);
  expect(text).toContain(`<meta name="description" content="${said}">`);
  expect(text).toContain('<meta name="robots" content="noindex">');
  expect(text).not.toMatch(/property="og:|rel="canonical"|\/agents\/\[removed\]/);
  expect(text).toMatch(/<div class="removal">.*<time datetime="\d{4}-/s);
  expect(text).toContain("A removed post takes no comments and no votes.");
  expect(text).not.toContain("$KEY");
  expect(text).toContain("I stay.");
  expect(text.includes(`href="/moderations?item=post&amp;item_id=${post}"`)).toBe(by !== "its author");
});

it("a post that is restored is a page as before", async () => {
  const post = await write("Restored headline");
  await act(`posts/${post}?reason=spam`, founder.key, "DELETE");
  await act(`posts/${post}/restore`, founder.key);
  const { text } = await get(`/posts/${post}`);
  expect(text).toContain("<h1><bdi>Restored headline</bdi></h1>");
  expect(text).toContain('<a class="author" href="/agents/Phantom">Phantom</a>');
  expect(text).not.toMatch(/class="removal"|noindex/);
  expect((await get("/?sort=new")).text).toContain("Restored headline");
  await act(`posts/${post}`, author.key, "DELETE");
});

it("a removed comment keeps its place, with its replies below it", async () => {
  const post = await write("A thread", reader);
  const first = await comment(post, "hidden reply", author);
  const answer = await comment(post, "I answer.", reader, first);
  const second = await comment(post, "another hidden reply", author, answer);
  expect((await get(`/posts/${post}`)).text).toContain("<p>hidden reply</p>");

  await act(`comments/${first}?reason=off_topic&note=hidden%20remark`, founder.key, "DELETE");
  await act(`comments/${second}`, author.key, "DELETE");
  const { text } = await get(`/posts/${post}`);
  for (const secret of ["hidden reply", "hidden remark", "Phantom", "/agents/["]) expect(text).not.toContain(secret);
  const order = [...text.matchAll(/class="comment d(\d)" id="c(\d+)"/g)].map(([, d, id]) => [Number(d), Number(id)]);
  expect(order).toEqual([
    [0, first],
    [1, answer],
    [2, second],
  ]);
  expect(text).toContain('<h2 id="comments-title">1 comment</h2>');
  expect(text).toContain("A moderator removed this comment. Reason: off topic.");
  expect(text).toContain(`href="/moderations?item=comment&amp;item_id=${first}"`);
  expect(text).toContain("The author of this comment removed it.");
  expect(text).not.toContain(`item_id=${second}"`);
  expect(text).toContain(`<a class="reply" href="#c${first}">in reply to a removed comment</a>`);
  // The post itself stands.
  expect(text).not.toContain("noindex");

  await act(`comments/${answer}`, reader.key, "DELETE");
  expect((await get(`/posts/${post}`)).text).toContain("All comments were removed");
});

it("edits show when they happened, and renew the Atom entry", async () => {
  const post = await write("A first version", reader);
  const reply = await comment(post, "A first reply.", founder);
  expect((await get(`/posts/${post}`)).text).not.toContain("edited");
  const edit = (path: string, key: string, body: object) => service.rest(path, { method: "PATCH", key, body });
  const { body } = await edit(`posts/${post}`, reader.key, { title: "A second version" });
  await edit(`comments/${reply}`, founder.key, { body: "A second reply." });
  const { text } = await get(`/posts/${post}`);
  expect(text).toContain(`<span>edited <time datetime="${body.post.edited_at}"`);
  expect(text.match(/<span>edited /g)).toHaveLength(2);
  expect(text).toContain("A second version");
  expect(text).not.toContain("A first");
  const feed = (await get("/c/porches/feed.xml")).text;
  const entry = feed.slice(feed.indexOf("<title>A second version"), feed.indexOf("</entry>"));
  expect(entry).toContain(`<published>${body.post.created_at}</published>`);
  expect(entry).toContain(`<updated>${body.post.edited_at}</updated>`);
  expect(feed.indexOf(`<updated>${body.post.edited_at}</updated>`)).toBeLessThan(feed.indexOf("<entry>"));
});

it("a locked post says that it takes no more comments", async () => {
  const post = await write("A quarrel", reader);
  expect((await get("/?sort=new")).text).not.toContain(">locked</span>");
  await act(`posts/${post}/lock`, founder.key);
  const { text } = await get(`/posts/${post}`);
  expect(text).toContain("This post is locked. It takes no more comments.");
  expect(text).toContain(`/moderations?item=post&amp;item_id=${post}`);
  expect(text).not.toContain("$KEY");
  for (const path of ["/?sort=new", "/c/porches?sort=new", "/agents/Chrysippus"]) {
    expect((await get(path)).text, path).toContain('<span title="It takes no more comments">locked</span>');
  }
  await act(`posts/${post}/unlock`, founder.key);
  expect((await get(`/posts/${post}`)).text).not.toContain("locked");
});

it("an erased agent is [removed] without a link on every page, and has no page", async () => {
  const ghost = await service.register("Ghostwriter");
  await service.found(ghost, "ruins");
  const post = await service.post(ghost, { title: "It stands", community: "ruins" });
  const first = await comment(post, "It stands, too.", ghost);
  await comment(post, "An answer.", reader, first);
  expect((await get("/c/ruins")).text).toContain('<a href="/agents/Ghostwriter">Ghostwriter</a>');
  await service.operator.eraseAgent({ name: ghost.name, reason: ModerationReason.OTHER });

  const paths = ["/?sort=new", "/c/ruins", `/posts/${post}`, "/feed.xml", "/c/ruins/feed.xml"];
  for (const path of paths) {
    const { status, text } = await get(path);
    expect(status, path).toBe(200);
    expect(text, path).toContain("[removed]");
    expect(text, path).not.toMatch(/Ghostwriter|agents\/(?:\[|%5B)removed/i);
  }
  const { text } = await get(`/posts/${post}`);
  expect(text.match(/<span class="author">\[removed\]<\/span>/g)).toHaveLength(2);
  expect(text).toContain("It stands, too.");
  expect(text).toContain(`href="#c${first}">in reply to [removed]</a>`);
  expect(text).toContain('<meta name="description" content="Post');
  for (const name of ["Ghostwriter", "ghostwriter", "[removed]", "%5Bremoved%5D"]) {
    expect((await get(`/agents/${name}`)).status, name).toBe(404);
  }
});
