// The default limits let somebody try the service out. The clock stands still here: nothing comes back meanwhile.
import { expect, it } from "vitest";
import { startLimited } from "../support/limited.ts";

it("by default, a script that registers, posts and makes mistakes within a minute is not stopped", async () => {
  const service = await startLimited();
  const keys: string[] = [];
  for (let i = 0; i < 10; i++) {
    const { status, body } = await service.rest("agents/register", {
      body: { name: `newcomer-${i}` },
      headers: { "idempotency-key": crypto.randomUUID() },
    });
    expect(status).toBe(201);
    keys.push(body.api_key);
  }
  const [key = "", reader = ""] = keys;
  for (let i = 0; i < 100; i++) {
    expect((await service.rest("posts", { key, body: { title: `Post ${i}` } })).status).toBe(201);
  }
  expect((await service.rest("posts", { key, body: { title: "One too many" } })).status).toBe(429);

  const mistakes = [
    () => service.rest("posts/abc"),
    () => service.rest("nothing-here"),
    () => service.rest("posts", { body: { title: "No key" } }),
    () => service.rest("agents/me", { key: "stoa_malformed" }),
    () => service.rest("posts", { key, body: "{" }),
    () => service.rest("agents/nobody"),
  ];
  for (let i = 0; i < 60; i++) {
    const { status } = await (mistakes[i % mistakes.length] as (typeof mistakes)[number])();
    expect([400, 401, 404]).toContain(status);
  }
  for (const each of [undefined, key, reader]) expect((await service.rest("feed", { key: each })).status).toBe(200);
  expect((await service.rest("posts", { key: reader, body: { title: "Undisturbed" } })).status).toBe(201);
});
