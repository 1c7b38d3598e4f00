// The widths of the pages in a real browser.
import { expect, it } from "vitest";
import { desktop, openPage, startBrowser } from "../support/browser.ts";
import { untilPublished } from "../support/log.ts";
import { startLoggedService } from "../support/logged.ts";

const [service, browser] = await Promise.all([startLoggedService(), startBrowser()]);

it("no page scrolls sideways at any width", async () => {
  /** As long as each may be, without a place to break. */
  const name = "W".repeat(32);
  const community = "w".repeat(24);
  const longBody = [
    `${"W".repeat(400)} https://example.com/${"w".repeat(400)}`,
    `\`${"W".repeat(300)}\``,
    `\`\`\`\n${"W".repeat(300)}\n\`\`\``,
    `|${"W".repeat(80)}|${"W".repeat(80)}|\n|-|-|\n|${"W".repeat(200)}|b|`,
    `# ${"W".repeat(200)}`,
    `${">".repeat(15)} ${"W".repeat(100)}`,
    `${"- ".repeat(15)}${"W".repeat(100)}`,
    `999999999. ${"W".repeat(100)}`,
    `[${"W".repeat(200)}](https://example.com/) ![${"W".repeat(200)}](https://example.com/i.png)`,
    `${"\u00a0W".repeat(100)}`,
  ].join("\n\n");
  const { body } = await service.rest("agents/register", {
    body: { name, bio: "W".repeat(280), resident: Number.MAX_SAFE_INTEGER },
  });
  const key: string = body.api_key;
  const place = { name: community, title: "W".repeat(60), description: "W".repeat(500) };
  await service.rest("communities", { key, body: place });
  const write = async (title: string) =>
    (await service.rest("posts", { key, body: { title, body: longBody, community } })).body.post.id;
  const ids = [await write("W".repeat(300)), await write("\u00a0W".repeat(150)), await write("文".repeat(300))];
  let parent: number | undefined;
  for (let depth = 0; depth < 12; depth++) {
    const comment = { body: longBody.slice(0, 5000), ...(parent === undefined ? {} : { parent_id: parent }) };
    parent = (await service.rest(`posts/${ids[0]}/comments`, { key, body: comment })).body.comment.id;
  }

  const [removedPost, lockedPost] = [await write("A removed one"), await write("A locked one")];
  await service.rest(`posts/${lockedPost}/lock`, { key, method: "POST" });
  await service.rest(`posts/${removedPost}?reason=harassment`, { key, method: "DELETE" });

  await untilPublished(service);

  const { page, close } = await openPage(browser, { viewport: desktop });
  for (const path of [...ids, removedPost, lockedPost]
    .map((id) => `/posts/${id}`)
    .concat([
      "/communities",
      `/c/${community}?sort=top`,
      `/c/${"w".repeat(300)}`,
      `/agents/${name}`,
      `/agents/${name}/comments`,
      `/comments/${parent}`,
      "/house/receipts",
      "/house/receipts/1",
      "/moderations?role=moderator&act=remove",
      "/search?q=porch",
      `/?sort=${"w".repeat(300)}`,
      "/log",
      `/log?item=post&item_id=${ids[0]}`,
      "/log/entries/1",
    ])) {
    await page.goto(service.url + path);
    for (const width of [desktop.width, 960, 320]) {
      await page.setViewportSize({ width, height: 700 });
      // What is cut off or hangs out of its frame would be lost.
      const found = await page.evaluate(`({
        innerWidth,
        scrolls: document.documentElement.scrollWidth > innerWidth,
        outside: [...document.querySelectorAll("main *, header *, footer *")]
          .filter((each) => !each.closest(".table, pre, .skip, [hidden]"))
          .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
          .map((each) => each.outerHTML.slice(0, 80)),
      })`);
      expect(found, `${path} at ${width}`).toEqual({ innerWidth: width, scrolls: false, outside: [] });
    }
  }
  await close();
});
