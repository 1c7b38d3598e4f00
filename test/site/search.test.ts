// The page of the search: a plain form, compact results, and what people type wrong.
import { expect, it } from "vitest";
import { foundExcerpt } from "../../src/site/marked-words.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { startService } from "../support/service.ts";
import { nextIn, pagesOf } from "./get.ts";

const service = await startService();
const { key } = await service.register("Zeno");
for (let i = 1; i <= 30; i++) await service.rest("posts", { key, body: { title: `Owl number ${i}` } });
await service.rest("posts/1/comments", { key, body: { body: "An *owl* & <b>more</b>" } });

const get = pagesOf(service);

it("has a form without script, and each other page has a box for words in its header", async () => {
  const { status, text } = await get("/search");
  expect(status).toBe(200);
  expect(text).toContain('<form class="search" action="/search" method="get" role="search"');
  expect(text).not.toContain("<script");
  expect(text.match(/type="search"/g)).toHaveLength(1);
  for (const path of ["/", "/posts/1", "/house/receipts/1", "/no"]) {
    expect((await get(path)).text, path).toContain(
      '<form class="finder" action="/search" method="get" role="search" aria-label="The board">',
    );
  }
});

it("shows posts page by page, and keeps the search in the links", async () => {
  const first = await get("/search?q=owl+-7&type=posts&sort=new&community=&author=");
  expect(first.status).toBe(200);
  expect(first.text).toContain('value="owl -7"');
  expect(first.text).toContain('type="application/json" href="/api/v1/search?q=owl+-7&amp;type=posts&amp;sort=new"');
  expect(first.text.match(/<li class="post">/g)).toHaveLength(25);
  expect(first.text).not.toContain("Owl number 7<");
  expect(nextIn(first.text)).toMatch(/^\/search\?q=owl\+-7&sort=new&cursor=/);
  const second = await get(nextIn(first.text));
  expect(second.text.match(/<li class="post">/g)).toHaveLength(4);
  expect(second.text).toContain("29 posts found");
  expect(second.text).toContain('<a href="/search?q=owl+-7&amp;sort=new" rel="first">');
});

it("shows comments, communities and agents, with the words marked", async () => {
  expect((await get("/search?q=owl&type=comments")).text).toContain(
    '<a href="/comments/1">An <mark>owl</mark> &amp; &lt;b&gt;more&lt;/b&gt;</a>',
  );
  expect((await get("/search?q=zeno&type=agents")).text).toContain(
    '<h2><a href="/agents/Zeno"><mark>Zeno</mark></a></h2>',
  );
  await service.rest("communities", { key, body: { name: "owls", title: "Owls" } });
  expect((await get("/search?q=owls&type=communities")).text).toContain(
    '<a href="/c/owls"><bdi><mark>Owls</mark></bdi></a>',
  );
});

it("shows the part of a text about its first word, and how many results there are", async () => {
  const body = `${"Some words before. ".repeat(200)}Here a **griffin** sits. ${"Some *words* after. ".repeat(20)}`;
  const write = (title: string) => service.rest("posts", { key, body: { title, body } });
  await write("Griffins & a <b>griffin</b>");
  const { text } = await get("/search?q=-nothing+GRIFFIN");
  expect(text).toContain("<bdi>Griffins &amp; a &lt;b&gt;<mark>griffin</mark>&lt;/b&gt;</bdi>");
  expect(text).toMatch(
    /<p class="excerpt" dir="auto">…[^<]{20,60}Here a <mark>griffin<\/mark> sits[^<]{100,200}…<\/p>/,
  );
  expect(text).toContain("1 post found");
  for (let post = 0; post < 25; post++) await write(`Griffin ${post}`);
  expect((await get("/search?q=griffin")).text).toContain("More than 25 posts found");
});

it("says when nothing is found, and gives the form back for what has no words", async () => {
  expect((await get("/search?q=unicorn")).text).toContain("Nothing has all of these words.");
  for (const q of ["-owl", "%22%3E%3Cscript%3E", "%F0%9F%A6%89"]) {
    const { status, text } = await get(`/search?q=${q}`);
    expect(status).toBe(200);
    if (!q.includes("script")) expect(text).toContain("A search needs a word that must occur.");
    expect(text).toContain('<form class="search"');
    expect(text).not.toContain("<script");
  }
  expect((await get("/search?q=owl&author=nobody")).status).toBe(404);
  expect((await get("/search?q=%ZZ")).text).toContain('<form class="search"');
});

it("finds nothing of a long search in 25 bodies in bounded time", () => {
  // Letters of two code units and two cases take longest.
  const [q, body] = [`${"\u{10428}".repeat(199)}\u{10429}`, "\u{10400}".repeat(10_000)];
  const page = () => Array.from({ length: 25 }, () => foundExcerpt(body, q));
  expect(cpuMs(page, 30)).toBeLessThan(30);
});
