// The pages in a real browser.
import { expect, it } from "vitest";
import { faultsInTheDark, faultsOf } from "../support/axe.ts";
import { desktop, openPage, phone } from "../support/browser.ts";
import { hostile, makeReaderWorld } from "./reader-world.ts";

const { service, browser, post, hostilePost, removedPost } = await makeReaderWorld();

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

// axe.test.ts has the other kinds of pages. These have all colours between them.
it("axe finds no fault on these pages, and enough contrast in the dark and on a phone", async () => {
  const { page, close } = await openPage(browser);
  for (const path of [`/posts/${hostilePost}`, "/?sort=top&t=day", "/house/receipts/1", "/moderations"]) {
    await page.goto(service.url + path);
    expect(await faultsOf(page), path).toEqual([]);
    expect(await faultsInTheDark(page), path).toEqual([]);
  }
  await close();
});
