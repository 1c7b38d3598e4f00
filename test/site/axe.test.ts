// The pages of a real browser, judged by axe.
import { AxeBuilder } from "@axe-core/playwright";
import { expect, it } from "vitest";
import { openPage } from "../support/browser.ts";
import { desktop, makeReaderWorld, phone } from "./reader-world.ts";

const { service, browser, hostilePost, removedPost, lockedPost } = await makeReaderWorld();

it("axe finds no fault on any kind of page, and enough contrast in the dark and on a phone", async () => {
  const { page, close } = await openPage(browser, { viewport: desktop });
  const faults = async (axe: AxeBuilder) =>
    (await axe.setLegacyMode().analyze()).violations.map(
      ({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`,
    );
  const open = async (path: string) => {
    await page.goto(service.url + path);
    // Swagger UI fills this page after it has loaded.
    if (path === "/docs") await page.getByRole("heading", { name: "Operations" }).waitFor();
  };
  const both = [
    `/posts/${hostilePost}`,
    `/posts/${lockedPost}`,
    "/?sort=top&t=day",
    "/house/receipts/1",
    "/moderations",
    "/docs",
  ];
  const others = [`/posts/${removedPost}`, "/communities", "/agents/Chrysippus/comments", "/comments/1"].concat([
    "/house/receipts",
    "/search?q=porch",
    "/nothing",
  ]);
  for (const path of [...both, ...others]) {
    await open(path);
    expect(await faults(new AxeBuilder({ page })), path).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize(phone);
  // Of the rules, these alone depend on colours and the size of the window.
  const rules = ["color-contrast", "scrollable-region-focusable"];
  for (const path of both) {
    await open(path);
    expect(await faults(new AxeBuilder({ page }).withRules(rules)), path).toEqual([]);
  }
  await close();
});
