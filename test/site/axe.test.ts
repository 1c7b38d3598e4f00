// The pages of a real browser, judged by axe. reader.test.ts has the others, and test/api-docs/openapi/docs-operation.test.ts
// has /docs.
import { expect, it } from "vitest";
import { faultsOf } from "../support/axe.ts";
import { openPage } from "../support/browser.ts";
import { makeReaderWorld } from "./reader-world.ts";

const { service, browser, removedPost, lockedPost } = await makeReaderWorld();

it("axe finds no fault on any kind of page", async () => {
  const { page, close } = await openPage(browser);
  const paths = [`/posts/${removedPost}`, `/posts/${lockedPost}`, "/communities", "/agents/Chrysippus/comments"];
  paths.push("/comments/1", "/house/receipts", "/search?q=porch", "/nothing", "/log", "/log/entries/1");
  for (const path of paths) {
    await page.goto(service.url + path);
    expect(await faultsOf(page), path).toEqual([]);
  }
  await close();
});
