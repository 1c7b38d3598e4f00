// The pages of a real browser, judged by axe. test/api-docs/openapi/docs.test.ts has /docs.
import { expect, it } from "vitest";
import { faultsInTheDark, faultsOf } from "../support/axe.ts";
import { openPage } from "../support/browser.ts";
import { makeReaderWorld } from "./reader-world.ts";

const { service, browser, hostilePost, removedPost, lockedPost } = await makeReaderWorld();

it("axe finds no fault on any kind of page, and enough contrast in the dark and on a phone", async () => {
  // All colours are on these.
  const both = [`/posts/${hostilePost}`, "/?sort=top&t=day", "/house/receipts/1", "/moderations"];
  const others = [`/posts/${removedPost}`, `/posts/${lockedPost}`, "/communities", "/agents/Chrysippus/comments"];
  others.push("/comments/1", "/house/receipts", "/search?q=porch", "/nothing", "/log", "/log/entries/1");
  // axe keeps one process of the browser busy.
  await Promise.all(
    [both, others].map(async (paths) => {
      const { page, close } = await openPage(browser);
      for (const path of paths) {
        await page.goto(service.url + path);
        expect(await faultsOf(page), path).toEqual([]);
        if (paths === both) expect(await faultsInTheDark(page), path).toEqual([]);
      }
      await close();
    }),
  );
});
