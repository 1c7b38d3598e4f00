import { expect, it } from "vitest";
import { createStoaClient } from "../../src/client/index.ts";
import { startService } from "../support/service.ts";
import { collect } from "./fake-stoa.ts";

const service = await startService();

it("finds posts and comments, page by page", async () => {
  const { name, key } = await service.register();
  const stoa = createStoaClient(service.url, { apiKey: key });
  for (let i = 0; i < 51; i++) await stoa.posts.createPost({ title: `Sea urchin ${i}` });
  await stoa.comments.createComment({ id: 1, body: "An urchin" });
  const anonymous = createStoaClient(service.url);
  const found = await collect(anonymous.everyFoundPost({ q: "urchin -7", sort: "new" }));
  expect(found.map(({ id }) => Number(id))).toEqual(
    Array.from({ length: 51 }, (_, i) => 51 - i).filter((id) => id !== 8),
  );
  expect(await collect(anonymous.everyFoundPost({ q: "urchin", community: "general", author: name }))).toHaveLength(51);
  expect((await collect(anonymous.everyFoundComment({ q: "urchin" }))).map(({ body }) => body)).toEqual(["An urchin"]);
  const { agents } = await anonymous.searches.search({ q: `"${name}"`, type: "agents" });
  expect(agents.map((agent) => agent.name)).toEqual([name]);
  await expect(collect(anonymous.everyFoundPost({ q: "-urchin" }))).rejects.toMatchObject({
    code: "bad_input",
    field: "q",
  });
});
