// What is served while the log is frozen.
import { expect, it } from "vitest";
import { startWithPost } from "./service-with-post.ts";

it("while the log is frozen the board writes on, and a proof of what is new waits 5 seconds and then gets 503", async () => {
  const { service, key } = await startWithPost();
  const { db, rest } = service;
  const before = await (await fetch(`${service.url}/log/checkpoint`)).text();
  await db.rows("UPDATE log_head SET restored = 1");
  const { status, body } = await rest("posts", { key, body: { title: "While it is frozen" } });
  expect(status).toBe(201);
  expect(await rest(`posts/${body.post.id}/proof`)).toMatchObject({
    status: 503,
    body: { error: "unavailable", message: "The log does not have this yet.", retry_after_seconds: 1 },
  });
  expect(await (await fetch(`${service.url}/log/checkpoint`)).text()).toBe(before);
  expect((await rest("/readyz")).body.warning).toMatch(
    /^The log is frozen, and nothing is added to it\. .* recover --log/,
  );
});
