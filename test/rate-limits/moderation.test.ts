// What edits, removals, locks and reports cost of their limits: nothing where they change nothing.
import { expect, it } from "vitest";
import { startLimited } from "../support/limited.ts";

it("repeats of edits, removals, locks, appointments and reports are free; what changes something is charged", async () => {
  const service = await startLimited({
    edits: { calls: 4, windowSeconds: 3600 },
    reports: { calls: 2, windowSeconds: 3600 },
  });
  const author = await service.register();
  const reader = await service.register();
  await service.rest("communities", { key: author.key, body: { name: "costs", title: "Costs" } });
  const post = async () =>
    (await service.rest("posts", { key: author.key, body: { title: "A post", community: "costs" } })).body.post.id;
  const [first, second, third] = [await post(), await post(), await post()];
  const ask = async (path: string, method: string, key = author.key, body?: object) => {
    const { status } = await service.rest(path, { method, key, ...(body === undefined ? {} : { body }) });
    return status;
  };
  // Four changes, and twenty repeats of them.
  for (let repeat = 0; repeat < 5; repeat++) {
    expect(await ask(`posts/${first}`, "PATCH", author.key, { body: "Other" })).toBe(200);
    expect(await ask(`posts/${first}/lock`, "POST")).toBe(200);
    expect(await ask(`posts/${second}`, "DELETE")).toBe(200);
    expect(await ask(`communities/costs/moderators/${reader.name}`, "PUT")).toBe(200);
  }
  expect(await ask(`posts/${third}`, "DELETE")).toBe(429);
  expect((await service.rest(`posts/${third}`)).body.post.removed).toBeNull();
  for (let repeat = 0; repeat < 5; repeat++) {
    for (const id of [first, third]) {
      expect(await ask(`posts/${id}/report`, "POST", reader.key, { reason: "spam" })).toBe(200);
    }
  }
  const fourth = await post();
  expect(await ask(`posts/${fourth}/report`, "POST", reader.key, { reason: "spam" })).toBe(429);
  // Refusals are free as well: the reader's edits are untouched.
  expect(await ask(`posts/${fourth}/lock`, "POST", reader.key)).toBe(200);
});
