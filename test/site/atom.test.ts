import { SaxesParser } from "saxes";
import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";
import { pagesOf } from "./get.ts";

/** An element as a strict parser reads it, with its local name. */
interface Element {
  name: string;
  attributes: Record<string, string>;
  children: Element[];
  text: string;
}

const atom = "http://www.w3.org/2005/Atom";

const service = await startService();
const get = pagesOf(service);
const author = await service.register("Zeno");
await service.rest("communities", { key: author.key, body: { name: "proofs", title: 'Proofs & "ledgers" <here>' } });

/** Parses a document. @throws Error if it is not well-formed XML */
function parse(xml: string): Element {
  const parser = new SaxesParser({ xmlns: true });
  const root: Element = { name: "", attributes: {}, children: [], text: "" };
  const open = [root];
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", ({ uri, local, attributes }) => {
    expect(uri).toBe(atom);
    const element: Element = { name: local, attributes: {}, children: [], text: "" };
    for (const [name, { value }] of Object.entries(attributes)) element.attributes[name] = value;
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on("text", (text) => {
    (open.at(-1) as Element).text += text;
  });
  parser.on("closetag", () => void open.pop());
  parser.write(xml).close();
  return root.children[0] as Element;
}

function only(element: Element, name: string): Element {
  const found = element.children.filter((child) => child.name === name);
  expect(found, name).toHaveLength(1);
  return found[0] as Element;
}

/** Checks the requirements of RFC 4287 for a feed (4.1.1) and its entries (4.1.2). @returns the entries */
function checkFeed(feed: Element, path: string): Element[] {
  expect(feed.name).toBe("feed");
  expect(only(feed, "id").text).toBe(service.url + path);
  expect(only(feed, "title").text).not.toBe("");
  const links = feed.children.filter(({ name }) => name === "link").map(({ attributes }) => attributes);
  expect(links.filter(({ rel }) => rel === "self").map(({ href }) => href)).toEqual([service.url + path]);
  expect(links.filter(({ rel }) => rel === "alternate")).toHaveLength(1);
  const entries = feed.children.filter(({ name }) => name === "entry");
  for (const each of [feed, ...entries]) {
    expect(only(each, "updated").text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(() => new URL(only(each, "id").text)).not.toThrow();
  }
  for (const entry of entries) {
    expect(only(only(entry, "author"), "name").text).toBe("Zeno");
    expect(only(entry, "content").attributes.type).toBe("html");
    expect(only(entry, "link").attributes).toMatchObject({ rel: "alternate", href: only(entry, "id").text });
  }
  const ids = entries.map((entry) => only(entry, "id").text);
  expect(new Set(ids).size).toBe(ids.length);
  const times = entries.map((entry) => only(entry, "updated").text);
  expect(times).toEqual(times.toSorted().reverse());
  return entries;
}

describe("an Atom feed", () => {
  it("is valid without posts", async () => {
    for (const path of ["/feed.xml", "/c/proofs/feed.xml"]) {
      const { headers, text } = await get(path);
      expect(headers.get("content-type")).toBe("application/atom+xml; charset=utf-8");
      expect(checkFeed(parse(text), path)).toEqual([]);
    }
    for (const path of ["/c/nowhere/feed.xml", "/agents/Nobody/feed.xml"]) expect((await get(path)).status).toBe(404);
  });

  it("keeps all characters of posts, except that U+FFFD replaces those that XML forbids", async () => {
    const everyControl = String.fromCharCode(...Array.from({ length: 0x20 }, (_, code) => code), 0x7f, 0x85);
    const odd = `${everyControl}\ufffe\uffff\u{1f3db}\u{10ffff}]]><!--&amp;&nbsp;<b>"'`;
    const body = `a ${odd} b\n\n\`\`\`\n${odd}\n\`\`\``;
    const written = await service.rest("posts", { key: author.key, body: { title: "Odd", community: "proofs" } });
    // Earlier versions took control characters.
    await service.db.rows("UPDATE posts SET title = ?, body = ? WHERE id = ?", [
      `T ${odd}`,
      body,
      written.body.post.id,
    ]);
    const [entry] = checkFeed(parse((await get("/c/proofs/feed.xml")).text), "/c/proofs/feed.xml") as [Element];
    const { post } = written.body;
    expect(only(entry, "id").text).toBe(post.url);
    expect(only(entry, "published").text).toBe(post.created_at);
    expect(only(entry, "title").text).toContain("\u{1f3db}\u{10ffff}]]><!--&amp;&nbsp;<b>\"'");
    expect(only(entry, "title").text).toContain("\ufffd\ufffd");
    expect(only(entry, "content").text).toContain("&lt;b&gt;");
    expect(only(entry, "category").attributes.term).toBe("proofs");
  });

  it("has no controls of direction in titles, which could turn around what a reader shows beside them", async () => {
    const title = "\u202eniart eht\u2066 and more";
    const { post } = (await service.rest("posts", { key: author.key, body: { title } })).body;
    await service.rest(`posts/${post.id}/comments`, { key: author.key, body: { body: "Why?" } });
    const path = `/agents/${author.name}/feed.xml`;
    const [comment, entry] = checkFeed(parse((await get(path)).text), path) as Element[];
    const titles = [comment, entry].map((each) => only(each as Element, "title").text);
    expect(titles).toEqual(["Comment on niart eht and more", "niart eht and more"]);
  });

  it("lists the newest posts first with stable ids, and answers 304 to a client that has it", async () => {
    for (let i = 0; i < 30; i++) await service.rest("posts", { key: author.key, body: { title: `Post ${i}` } });
    const first = await get("/feed.xml");
    const entries = checkFeed(parse(first.text), "/feed.xml");
    expect(entries).toHaveLength(25);
    expect(only(entries[0] as Element, "title").text).toBe("Post 29");
    expect(only(parse(first.text), "updated").text).toBe(only(entries[0] as Element, "updated").text);

    const tag = first.headers.get("etag") as string;
    expect((await get("/feed.xml", { "if-none-match": tag })).status).toBe(304);
    await service.rest("posts", { key: author.key, body: { title: "One more" } });
    const second = await get("/feed.xml", { "if-none-match": tag });
    expect(second.status).toBe(200);
    const ids = (list: Element[]) => list.map((entry) => only(entry, "id").text);
    expect(ids(checkFeed(parse(second.text), "/feed.xml")).slice(1)).toEqual(ids(entries).slice(0, 24));
  });

  it("of an agent lists its posts and its comments, newest first, and its page links to it", async () => {
    const path = "/agents/Zeno/feed.xml";
    const { post } = (await service.rest("posts", { key: author.key, body: { title: "On <walking>" } })).body;
    const other = await service.register();
    const say = async (body: string, { key } = author): Promise<number> =>
      (await service.rest(`posts/${post.id}/comments`, { key, body: { body } })).body.comment.id;
    await say("Not mine", other);
    const comment = await say("A *remark*");
    const { text } = await get("/agents/zeno/feed.xml");
    const entries = checkFeed(parse(text), path);
    expect(entries).toHaveLength(25);
    const [first, second] = entries as [Element, Element];
    expect(only(first, "id").text).toBe(`${service.url}/comments/${comment}`);
    expect(only(first, "title").text).toBe("Comment on On <walking>");
    expect(only(first, "content").text.trim()).toBe("<p>A <em>remark</em></p>");
    expect(only(second, "id").text).toBe(post.url);
    expect(text).not.toContain("Not mine");
    for (const page of ["/agents/Zeno", "/agents/Zeno/comments"])
      expect((await get(page)).text).toContain(`type="application/atom+xml" href="${path}"`);
    const empty = `/agents/${other.name}/feed.xml`;
    await service.rest(`comments/${comment - 1}`, { method: "DELETE", key: other.key });
    expect(checkFeed(parse((await get(empty)).text), empty)).toEqual([]);
  });
});
