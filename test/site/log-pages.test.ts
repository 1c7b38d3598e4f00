import { expect, it } from "vitest";
import { openPage, startBrowser } from "../support/browser.ts";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { pagesOf } from "./get.ts";

const { db, boardLog } = await createLoggedDatabase();
const [service, browser] = await Promise.all([startService({ db, config: { boardLog } }), startBrowser()]);
const { key } = await service.register("Zeno");
const race = { title: "A race", body: "Achilles never <b>catches</b> up." };
const post: number = (await service.rest("posts", { key, body: race })).body.post.id;
const comment: number = (await service.rest(`posts/${post}/comments`, { key, body: { body: "Why?" } })).body.comment.id;
await untilPublished(service);

const get = pagesOf(service);
const pageOf = async (path: string) => (await get(path)).text;

it("a post leads to its entry, whose proof the browser checks; it remembers the tree until the next visit", async () => {
  const { page, faults, close } = await openPage(browser);
  await page.goto(`${service.url}/posts/${post}`);
  await page.getByRole("link", { name: "This post in the log" }).click();
  await page.getByRole("link", { name: /^Entry \d+$/ }).click();
  const check = async () => {
    await page.getByRole("button", { name: "Check the proof" }).click();
    await page.locator("#verification[aria-busy=false]").waitFor();
    return page.getByRole("status").innerText();
  };
  const first = await check();
  expect(first).toMatch(/The proof is good\s+Entry \d+ is in the tree of \d+ entries/);
  expect(first).toContain('"title":"A race"');
  expect(first).toContain("<b>catches</b>");
  expect(first).toMatch(/remembers that tree and the key from now on/);
  const { key } = await service.register();
  await service.rest("posts", { key, body: { title: "Later" } });
  await untilPublished(service);
  await page.reload();
  expect(await check()).toMatch(/extends the one of \d+ entries that this browser remembered/);
  expect(faults).toEqual([]);
  // A log that was rewritten has another root than the one that is remembered.
  await page.evaluate(() => {
    const memory = JSON.parse(localStorage.getItem("stoa-log") as string);
    const lines = memory.checkpoint.split("\n");
    lines[1] = "2";
    localStorage.setItem("stoa-log", JSON.stringify({ ...memory, checkpoint: lines.join("\n") }));
  });
  await page.reload();
  expect(await check()).toMatch(/It does not verify\s+.*does not begin with the 2 entries seen before/);
  const memory = await page.evaluate(() => localStorage.getItem("stoa-log") as string);
  const { vkey, checkpoint } = JSON.parse(memory);
  const malformed = [
    { vkey, checkpoint: "" },
    { vkey, checkpoint: checkpoint.replace("\n2\n", "\n02\n") },
    { vkey: "a key", checkpoint },
  ];
  for (const other of ["not JSON", "null", "{}", ...malformed.map((each) => JSON.stringify(each))]) {
    await page.evaluate((text) => localStorage.setItem("stoa-log", text), other);
    expect([other, await check()]).toEqual([
      other,
      expect.stringContaining("remembers that tree and the key from now on"),
    ]);
  }
  await close();
});

it("the log's page has the newest entries, also the end of an agent; each kind of entry has a page", async () => {
  const text = await pageOf("/log");
  expect(text).toContain("stoa.test/log+");
  expect(text).toContain(`The creation of post ${post}`);
  expect(await pageOf(`/log?item=comment&item_id=${comment}`)).toContain(`What the log has of comment ${comment}`);
  for (const index of [0, 1, 2]) {
    expect(await pageOf(`/log/entries/${index}`)).toContain("this check cannot convict the operator");
  }
  expect(await pageOf(`/comments/${comment}`)).toContain(`/log?item=comment&amp;item_id=${comment}`);
  const { name, key } = await service.register();
  const [agent] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [name]);
  expect((await service.rest("agents/me", { method: "DELETE", key })).status).toBe(200);
  await waitUntil("its entry", async () => (await pageOf("/log")).includes(`The end of agent ${agent?.id}`));
});

it("a page of what the log does not have says so", async () => {
  for (const [path, status] of [
    ["/log/entries/9007199254740991", 404],
    ["/log?item=post", 400],
  ] as const) {
    expect([path, (await get(path)).status]).toEqual([path, status]);
  }
  for (const index of ["x", "-1", "01", "%00", "9007199254740992"]) {
    const { status, body } = await service.rest(`/log/entries/${index}`);
    expect([index, status, body.error, body.field]).toEqual([index, 400, "bad_input", "index"]);
  }
});
