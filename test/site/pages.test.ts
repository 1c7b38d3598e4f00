import { beforeAll, describe, expect, it } from "vitest";
import { serverOf } from "../support/database-link.ts";
import { startModerated } from "../support/moderation.ts";
import { startRelay } from "../support/relay.ts";
import { startService } from "../support/service.ts";
import { browser, nextIn, pagesOf } from "./get.ts";

const siteUrl = "https://stoa.example";
const contacts = ["mailto:security@stoa.example", `${siteUrl}/report`];
const service = await startModerated({ config: { siteUrl, security: { contacts, expires: "2031-12-31" } } });
const author = await service.register("Zeno");
await service.rest("communities", { key: author.key, body: { name: "porches", title: "Porches & halls" } });

const get = pagesOf(service);

const write = (body: object): Promise<number> => service.post(author, body);
const comment = (post: number, body: string, parent_id: number | null = null): Promise<number> =>
  service.comment(author, post, { body, parent_id });

/** Writes a post with a text that earlier versions took. */
async function writeAsBefore({ title, body = "" }: { title: string; body?: string }): Promise<number> {
  const id = await write({ title: "A post", body: "Text", community: "porches" });
  await service.db.rows("UPDATE posts SET title = ?, body = ? WHERE id = ?", [title, body, id]);
  return id;
}

describe("every page", () => {
  it.each(["/", "/communities", "/c/porches", "/agents/zeno", "/house/receipts/1", "/moderations", "/search"])(
    "%s is HTML with security headers, whatever the Accept header, and answers HEAD",
    async (path) => {
      for (const headers of [{ accept: browser }, { accept: "application/json" }]) {
        const page = await get(path, headers);
        expect(page.status).toBe(200);
        expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
        const policy = page.headers.get("content-security-policy");
        expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'");
        expect(policy).toContain("frame-ancestors 'none'");
        expect(policy).not.toContain("unsafe");
        expect(page.headers.get("x-content-type-options")).toBe("nosniff");
        expect(page.headers.get("cross-origin-opener-policy")).toBe("same-origin");
        expect(page.headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
        expect(page.text).not.toMatch(/<script(?! type="module" src="\/assets\/)|<style|\sstyle=|\son\w+=/);
      }
      const head = await get(path, {}, "HEAD");
      expect(head.status).toBe(200);
      expect(head.text).toBe("");
    },
  );

  it("answers 304 to a client that has it", async () => {
    const first = await get("/communities");
    const tag = first.headers.get("etag") as string;
    expect(tag).toMatch(/^W\/"/);
    const again = await get("/communities", { "if-none-match": tag });
    expect(again.status).toBe(304);
    expect(again.text).toBe("");
    expect(again.headers.get("etag")).toBe(tag);
    expect((await get("/communities", { "if-none-match": '"other"' })).status).toBe(200);
  });

  it("links its canonical address and its alternates", async () => {
    const { text } = await get("/c/porches?sort=top&t=week");
    expect(text).toContain(`<link rel="canonical" href="${siteUrl}/c/porches?sort=top&amp;t=week">`);
    expect(text).toContain('type="application/atom+xml" href="/c/porches/feed.xml"');
    expect(text).toContain('type="application/json" href="/api/v1/communities/porches/posts"');
    expect(text).toContain('<meta property="og:title" content="Porches &amp; halls · c/porches · Stoa">');
  });

  it("is beside security.txt, which says where vulnerabilities are reported", async () => {
    const { headers, text } = await get("/.well-known/security.txt");
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(text.split("\n")).toEqual([
      "Contact: mailto:security@stoa.example",
      "Contact: https://stoa.example/report",
      "Expires: 2031-12-31T00:00:00Z",
      "Canonical: https://stoa.example/.well-known/security.txt",
      "",
    ]);
  });

  it("loads its assets from this server, which are cached for ever", async () => {
    const { text } = await get("/house/receipts/1");
    const paths = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path as string);
    expect(paths.length).toBeGreaterThan(10);
    for (const path of paths) {
      const { status, headers } = await get(path);
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
    expect((await get("/robots.txt")).text).toMatch(/^User-agent: \*\n/);
    expect((await get("/favicon.svg")).headers.get("content-type")).toBe("image/svg+xml");
    expect((await get("/favicon.ico")).headers.get("content-type")).toBe("image/svg+xml");
  });
});

describe("feeds", () => {
  const ids: number[] = [];
  beforeAll(async () => {
    for (let i = 0; i < 27; i++) ids.push(await write({ title: `Paged ${i}`, community: "porches" }));
  });

  it("have the orders and windows of the API, and page by cursor", async () => {
    const titles = (text: string) => [...text.matchAll(/<h2><a href="\/posts\/(\d+)">/g)].map(([, id]) => Number(id));
    const first = await get("/c/porches?sort=new");
    expect(titles(first.text)).toEqual(ids.toReversed().slice(0, 25));
    const second = await get(nextIn(first.text));
    expect(titles(second.text)).toEqual([ids[1], ids[0]]);
    expect(second.text).toContain('rel="first"');
    expect(second.text).not.toContain('rel="next"');
    expect(second.text).toContain('<meta name="robots" content="noindex">');

    await service.rest(`posts/${ids[3]}/upvote`, { method: "POST", key: (await service.register()).key });
    expect(titles((await get("/c/porches?sort=top&t=day")).text)[0]).toBe(ids[3]);
    expect(titles((await get("/?sort=top")).text)[0]).toBe(ids[3]);
    expect((await get("/")).text).toContain('<a href="/" aria-current="page">Hot</a>');
  });

  it("keep their order and window on the next page, however the query is encoded", async () => {
    const { text } = await get("/c/porches?sort=t%6Fp&%74=day");
    expect(text).toMatch(/<a class="next" href="\/c\/porches\?sort=top&amp;t=day&amp;cursor=/);
    expect(text).toContain('<a href="/c/porches?sort=top&amp;t=day" aria-current="page">Day</a>');
  });

  it("refuse the same parameters as the API", async () => {
    const refused = await get("/?sort=hot&sort=new");
    expect([refused.status, (await get("/?t=%e0")).status, (await get("/?unknown=1")).status]).toEqual([400, 400, 200]);
    expect(refused.text).toContain("This address is not valid");
  });
});

describe("a post", () => {
  it("shows its comments as a thread, each reply below its parent", async () => {
    const post = await write({ title: "A thread", body: "# Head\n\nText with **weight**." });
    const a = await comment(post, "a");
    const b = await comment(post, "b");
    const a1 = await comment(post, "a1", a);
    const a2 = await comment(post, "a2", a);
    const a11 = await comment(post, "a11", a1);
    const { text } = await get(`/posts/${post}`);
    const order = [...text.matchAll(/class="comment d(\d)" id="c(\d+)"/g)].map(([, d, id]) => [Number(d), Number(id)]);
    expect(order).toEqual([
      [0, a],
      [1, a1],
      [2, a11],
      [1, a2],
      [0, b],
    ]);
    expect(text).toContain(`<a class="reply" href="#c${a1}">in reply to Zeno</a>`);
    expect(text).toContain("<h2>Head</h2>");
    expect(text).toContain("<strong>weight</strong>");
    // The board has no log.
    expect(text).not.toContain("/log?");
  });

  it("pages its comments, and does not nest the HTML of deep threads", async () => {
    const post = await write({ title: "A deep thread" });
    // Each comment replies to the one before it.
    const top = await comment(post, "reply 0");
    const [writer] = await service.db.rows<{ id: number }>("SELECT author_id AS id FROM posts WHERE id = ?", [post]);
    const rows = Array.from({ length: 259 }, (_, n) => [top + n + 1, top + n, post, writer?.id, `reply ${n + 1}`, 1]);
    const columns = "id, parent_id, post_id, author_id, body, created_at";
    await service.db.pool.query(`INSERT INTO comments (${columns}) VALUES ?`, [rows]);
    const first = await get(`/posts/${post}`);
    expect(first.text.match(/<li class="comment/g)).toHaveLength(250);
    expect(first.text.match(/class="comment d8"/g)).toHaveLength(242);
    const second = await get(nextIn(first.text));
    expect(second.text.match(/<li class="comment/g)).toHaveLength(10);
    // What it replies to is on the page before, and has a page of its own.
    expect(second.text).toMatch(/<a class="reply" href="\/comments\/(\d+)">in reply to comment \1<\/a>/);
    expect(second.text).toContain(`<a href="/posts/${post}#comments">`);
  });

  it("read from the database hardly more comments than they show", async () => {
    const { db } = service;
    const id = await write({ title: "A long thread", body: "" });
    const rows = Array.from({ length: 1_000 }, (_, i) => [id, 1, "x".repeat(1_000), i]);
    await db.pool.query("INSERT INTO comments (post_id, author_id, body, created_at) VALUES ?", [rows]);
    const [last] = await db.rows<{ id: number }>("SELECT MAX(id) AS id FROM comments");
    let bytes = 0;
    const { port } = await startRelay(serverOf(db.config), (client, database) => {
      client.pipe(database);
      database.on("data", (some) => {
        bytes += some.length;
        client.write(some);
      });
    });
    const { socketPath: _, ...account } = db.config;
    const replica = await startService({ db: { ...db, config: { ...account, host: "127.0.0.1", port } } });
    for (const path of [`posts/${id}`, `posts/${id}?sort=new`, `comments/${last?.id}`]) {
      bytes = 0;
      const page = await fetch(`${replica.url}/${path}`, { headers: { accept: browser } });
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("xxx")]);
      expect(bytes, path).toBeGreaterThan(250_000);
      expect(bytes, path).toBeLessThan(400_000);
    }
  });
});

it("a title that shows nothing is replaced by visible text", async () => {
  const title = "   \u0000\u202e\u2800\u3164\ufe0f\u2063";
  const id = await writeAsBefore({ title });
  for (const path of ["/?sort=new", "/c/porches?sort=new", "/agents/Zeno"]) {
    expect((await get(path)).text).toContain(`<h2><a href="/posts/${id}"><bdi>Post ${id}</bdi></a></h2>`);
  }
  const { text } = await get(`/posts/${id}`);
  expect(text).toContain(`<h1><bdi>Post ${id}</bdi></h1>`);
  expect(text).toContain(`<title>Post ${id} · c/porches · Stoa</title>`);
  expect((await get("/c/porches/feed.xml")).text).toContain(`<title>Post ${id}</title>`);
  await service.db.rows("UPDATE communities SET title = ? WHERE name = 'porches'", [title]);
  expect((await get("/communities")).text).toContain('<a href="/c/porches"><bdi>porches</bdi></a>');
});

it("pages hold no characters that HTML forbids", async () => {
  const controls = Array.from({ length: 0x20 }, (_, code) => code).concat(0x7f, 0x80, 0x9f, 0xfffe, 0xffff);
  const odd = `a${String.fromCharCode(...controls)}b`;
  const id = await writeAsBefore({ title: odd, body: `${odd}\n\n\`${odd}\`\n\n    ${odd}` });
  const commentId = await comment(id, "A comment");
  await service.db.rows("UPDATE comments SET body = ? WHERE id = ?", [odd, commentId]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them.
  const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]/;
  for (const path of ["/?sort=new", `/posts/${id}`, "/c/porches?sort=new", "/agents/Zeno"]) {
    const { text } = await get(path);
    expect(text).toContain("a\ufffd");
    expect(text).not.toMatch(forbidden);
  }
});

// reader.test.ts has texts that try to break out, in a browser.
it("texts of authors keep their direction to themselves, and have none in the title of the window", async () => {
  const turned = await write({ title: "turned \u202eround", body: "\u202eround" });
  const page = (await get(`/posts/${turned}`)).text;
  expect(page).toContain("<bdi>turned \u202eround</bdi>");
  expect(/<title>(.*)<\/title>/.exec(page)?.[1]).toBe("turned round · c/general · Stoa");
});

it("the list of communities has pages", async () => {
  const rows = Array.from({ length: 250 }, (_, n) => [`page-${String(n).padStart(3, "0")}`, "A page", "", 0]);
  await service.db.pool.query("INSERT INTO communities (name, title, description, created_at) VALUES ?", [rows]);
  const namesOf = (text: string) => Array.from(text.matchAll(/<h2><a href="\/c\/([^"]+)">/g), ([, name]) => name);
  const first = (await get("/communities")).text;
  const later = /href="(\/communities\?cursor=[^"]+)"/.exec(first)?.[1] ?? "";
  const second = (await get(later)).text;
  expect([...namesOf(first), ...namesOf(second)]).toEqual(["general", ...rows.map(([name]) => name), "porches"]);
  expect(namesOf(first)).toHaveLength(250);
  expect(second).toContain('href="/communities"');
});
