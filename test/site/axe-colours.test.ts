// The pages that have all colours between them, judged by axe.
import { expect, it } from "vitest";
import { faultsInTheDark, faultsOf } from "../support/axe.ts";
import { openPage } from "../support/browser.ts";
import { makeReaderWorld } from "./reader-world.ts";

const { service, browser, hostilePost } = await makeReaderWorld();

it("axe finds no fault on these pages, and enough contrast in the dark and on a phone", async () => {
  const { page, close } = await openPage(browser);
  for (const path of [`/posts/${hostilePost}`, "/?sort=top&t=day", "/house/receipts/1", "/moderations"]) {
    await page.goto(service.url + path);
    expect(await faultsOf(page), path).toEqual([]);
    expect(await faultsInTheDark(page), path).toEqual([]);
  }
  await close();
});
