// The pages in a real browser.
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { openPage, startBrowser } from "../support/browser.ts";
import { type Service, startService } from "../support/service.ts";

const desktop = { width: 1200, height: 800 };
const phone = { width: 360, height: 740 };

let service: Service;
let browser: Browser;
let zeno: { name: string; key: string };
let post: number;
let hostilePost: number;
/** A removed post, with a removed comment that has replies. */
let removedPost: number;
/** A locked post, which was edited. */
let lockedPost: number;

const word = "a".repeat(3000);
const hostile = `<script>alert(1)</script><img src=x onerror="alert(2)">"'\u202e\u2066${word}`;
const hostileBody = `${hostile}

<script>alert(3)</script>
<iframe src="https://evil.example/"></iframe>
<a href="https://evil.example" onclick="alert(4)">x</a>

[a](javascript:alert(5)) [b](JaVaScRiPt:alert(6)) [c](data:text/html,<script>alert(7)</script>) [d](//evil.example)
[e](&#x6A;avascript:alert(8)) [f](https://evil.example/"onmouseover="alert(9)) <javascript:alert(10)>
![g](https://evil.example/p.png "t\\"onload=alert(11)") ![](javascript:alert(12))

[h]: javascript:alert(13)
[h] \`<script>alert(14)</script>\` &lt;script&gt;alert(15)&lt;/script&gt;

    <script>alert(16)</script>

\`\`\`"><script>alert(17)</script>
</code></pre><script>alert(18)</script>
\`\`\`

| a | ${"b".repeat(200)} |
|---|---|
| <script>alert(19)</script> | \u202e${word} |
`;

beforeAll(async () => {
  [service, browser] = await Promise.all([startService(), startBrowser()]);
  zeno = await service.register("Zeno");
  const author = await service.register("Chrysippus");
  await service.rest("communities", {
    key: zeno.key,
    body: { name: "porches", title: "Porches & halls", description: hostile.slice(0, 400) },
  });
  const write = async (body: object, key = zeno.key): Promise<number> =>
    (await service.rest("posts", { key, body })).body.post.id;
  const comment = async (on: number, body: object): Promise<number> =>
    (await service.rest(`posts/${on}/comments`, { key: author.key, body })).body.comment.id;
  post = await write({
    title: "The painted porch",
    community: "porches",
    body: "# Where\n\nIt stands *here*, see [the plan](https://example.com/plan).\n\n### Deep\n\n- one\n- two",
  });
  let parent = await comment(post, { body: "I walk here." });
  for (let i = 0; i < 12; i++) parent = await comment(post, { body: `deeper ${i}`, parent_id: parent });
  hostilePost = await write({ title: hostile.slice(0, 300), body: hostileBody, community: "porches" });
  await comment(hostilePost, { body: hostileBody.slice(0, 5000) });
  await service.rest("agents/register", { body: { name: "Mallory", bio: hostile.slice(0, 280) } });

  removedPost = await write({ title: "To be removed", community: "porches", body: "No longer here." }, author.key);
  const reply = await comment(removedPost, { body: "To be removed, too." });
  await comment(removedPost, { body: "I stay.", parent_id: reply });
  lockedPost = await write({ title: "A quarrel", community: "porches", body: "You are wrong." });
  await comment(lockedPost, { body: "Not at all." });
  const act = (path: string, method = "POST", body?: object) =>
    service.rest(path, { method, key: zeno.key, ...(body && { body }) });
  await act(`posts/${lockedPost}`, "PATCH", { body: "You may be wrong." });
  await act(`posts/${lockedPost}/lock`);
  await act(`comments/${reply}?reason=personal_data`, "DELETE");
  await act(`posts/${removedPost}?reason=harassment`, "DELETE");
  await act("communities/porches/moderators/Mallory", "PUT");
  expect((await service.rest("moderations")).body.moderations).toHaveLength(4);
});

it("a reader walks from the board to a community, a post and its author", async () => {
  const { page, faults, close } = await openPage(browser, { viewport: desktop });
  await page.goto(service.url);
  await page.getByRole("navigation", { name: "Order of the posts" }).getByRole("link", { name: "New" }).click();
  await page.waitForURL("**/?sort=new");
  await page
    .getByRole("listitem")
    .filter({ hasText: "The painted porch" })
    .getByRole("link", { name: "c/porches" })
    .click();
  await expect.poll(() => page.getByRole("heading", { level: 1 }).textContent()).toBe("Porches & halls");
  await page.getByRole("link", { name: "The painted porch" }).click();
  await page.waitForURL(`**/posts/${post}`);
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("The painted porch");
  expect(await page.getByRole("heading", { level: 2, name: "Where" }).count()).toBe(1);
  expect(await page.getByRole("link", { name: "the plan" }).getAttribute("rel")).toBe("nofollow ugc noopener");
  expect(await page.locator(".comment").count()).toBe(13);
  await page.getByRole("link", { name: "Zeno" }).first().click();
  await page.waitForURL("**/agents/Zeno");
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Zeno");
  expect(await page.getByRole("link", { name: "The painted porch" }).count()).toBe(1);
  expect(faults).toEqual([]);
  await close();
});

it("a reader with a keyboard can skip to the content and sees the focus", async () => {
  const { page, close } = await openPage(browser, { viewport: desktop });
  await page.goto(service.url);
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to the content" });
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
  expect((await skip.boundingBox())?.y).toBeGreaterThanOrEqual(0);
  expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.closest('main') !== null")).toBe(true);
  await close();
});

it("a reader with a keyboard finds why a post was removed, and filters the record", async () => {
  const { page, faults, close } = await openPage(browser, { viewport: desktop, javaScriptEnabled: false });
  await page.goto(`${service.url}/posts/${removedPost}`);
  expect(await page.getByText("A moderator removed this post. Reason: harassment.").isVisible()).toBe(true);
  await page.getByRole("link", { name: "In the record of moderation" }).first().press("Enter");
  await page.waitForURL(`**/moderations?item=post&item_id=${removedPost}`);
  expect(await page.locator(".acts li").count()).toBe(1);
  await page.getByRole("link", { name: "Show all" }).press("Enter");
  await page.waitForURL("**/moderations?item=post");
  expect(await page.locator(".acts li").count()).toBe(2);
  await page.getByRole("navigation", { name: "About" }).getByRole("link", { name: "any" }).press("Enter");
  await page.waitForURL("**/moderations");
  expect(await page.locator(".acts li").count()).toBe(4);
  expect(await page.getByRole("navigation", { name: "Act" }).isVisible()).toBe(false);
  await page.getByText("Filters").press("Enter");
  expect(await page.getByRole("navigation", { name: "Act" }).isVisible()).toBe(true);
  expect(faults).toEqual([]);
  await close();
});

it("a reader with a keyboard searches from any page, and folds a thread, without JavaScript", async () => {
  const { page, faults, close } = await openPage(browser, { viewport: phone, javaScriptEnabled: false });
  await page.goto(`${service.url}/posts/${post}`);
  const reply = page.getByText("deeper 0");
  expect(await reply.isVisible()).toBe(true);
  const fold = page.locator("summary").first();
  expect(await fold.textContent()).toBe("12 replies");
  await fold.press("Enter");
  expect(await reply.isVisible()).toBe(false);
  expect(await page.getByText("I walk here.").isVisible()).toBe(true);
  await fold.press("Space");
  expect(await reply.isVisible()).toBe(true);
  await page.getByRole("searchbox", { name: "Search the board" }).fill("painted porch");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/search?q=painted+porch");
  await page.locator(".found").getByRole("link", { name: "The painted porch" }).press("Enter");
  await page.waitForURL(`**/posts/${post}`);
  expect(faults).toEqual([]);
  await close();
});

it("a reader without JavaScript can read everything", async () => {
  const { page, close } = await openPage(browser, { viewport: phone, javaScriptEnabled: false });
  await page.goto(`${service.url}/house/receipts/1`);
  expect(await page.getByText("This needs JavaScript").isVisible()).toBe(true);
  expect(await page.locator("main button:visible").count()).toBe(0);
  expect(await page.getByText("sha256sum | cut").first().isVisible()).toBe(true);
  await close();
});

it("texts of authors inject no elements and load nothing", async () => {
  const { page, faults, close } = await openPage(browser, { viewport: desktop });
  for (const path of ["/", "/c/porches", "/communities", "/agents/Mallory", `/posts/${hostilePost}`]) {
    await page.goto(service.url + path);
    // Handlers of links run when the mouse is over them.
    const injected = await page.evaluate(`{
      for (const link of document.querySelectorAll("main a")) link.dispatchEvent(new MouseEvent("mouseover"));
      ({
        elements: document.querySelectorAll("main :is(script, img, iframe, object, embed, form, style, svg)").length,
        handlers: [...document.querySelectorAll("*")].flatMap((element) =>
          element.getAttributeNames().filter((name) => name.startsWith("on") || name === "style")),
        links: [...document.querySelectorAll("a")].map((link) => link.protocol).filter((each) => !/^https?:$/.test(each)),
        scripts: document.scripts.length,
      });
    }`);
    expect(injected, path).toEqual({ elements: 0, handlers: [], links: [], scripts: 0 });
    expect(faults, path).toEqual([]);
  }
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(hostile.slice(0, 300));
  // A direction override ends at the end of its text.
  const isolated = await page.evaluate("getComputedStyle(document.querySelector('h1 bdi')).unicodeBidi");
  expect(isolated).toMatch(/isolate/);
  await close();
});

it("axe finds no fault on any kind of page, and enough contrast in the dark and on a phone", async () => {
  const { page, close } = await openPage(browser, { viewport: desktop });
  const faults = async (axe: AxeBuilder) =>
    (await axe.setLegacyMode().analyze()).violations.map(
      ({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`,
    );
  const both = [
    `/posts/${hostilePost}`,
    `/posts/${lockedPost}`,
    "/?sort=top&t=day",
    "/house/receipts/1",
    "/moderations",
  ];
  const others = [`/posts/${removedPost}`, "/communities", "/agents/Chrysippus/comments", "/comments/1"].concat([
    "/house/receipts",
    "/search?q=porch",
    "/nothing",
  ]);
  for (const path of [...both, ...others]) {
    await page.goto(service.url + path);
    expect(await faults(new AxeBuilder({ page })), path).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize(phone);
  // Of the rules, these alone depend on colours and the size of the window.
  const rules = ["color-contrast", "scrollable-region-focusable"];
  for (const path of both) {
    await page.goto(service.url + path);
    expect(await faults(new AxeBuilder({ page }).withRules(rules)), path).toEqual([]);
  }
  await close();
});
