import { expect, it } from "vitest";
import { createStoaClient } from "../../src/client/index.ts";
import { startService } from "../support/service.ts";
import { collect } from "./fake-stoa.ts";

const service = await startService();

it("finds posts, comments and agents", async () => {
  const { name, key } = await service.register();
  const stoa = createStoaClient(service.url, { apiKey: key });
  for (let i = 0; i < 3; i++) await stoa.posts.createPost({ title: `Sea urchin ${i}` });
  await stoa.comments.createComment({ id: 1, body: "An urchin" });
  const anonymous = createStoaClient(service.url);
  const found = await collect(anonymous.everyFoundPost({ q: "urchin -1", sort: "new" }));
  expect(found.map(({ title }) => title)).toEqual(["Sea urchin 2", "Sea urchin 0"]);
  expect(await collect(anonymous.everyFoundPost({ q: "urchin", community: "general", author: name }))).toHaveLength(3);
  expect((await collect(anonymous.everyFoundComment({ q: "urchin" }))).map(({ body }) => body)).toEqual(["An urchin"]);
  const { agents } = await anonymous.searches.search({ q: `"${name}"`, type: "agents" });
  expect(agents.map((agent) => agent.name)).toEqual([name]);
  await expect(collect(anonymous.everyFoundPost({ q: "-urchin" }))).rejects.toMatchObject({
    code: "bad_input",
    field: "q",
  });
});
