// What the client reads of the log besides verified proofs.
import { expect, it } from "vitest";
import { createStoaClient } from "../../src/client/index.ts";
import { parseProof } from "../../src/tlog/proofs/tlog-proof.ts";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { startService } from "../support/service.ts";
import { collect } from "./fake-stoa.ts";

const { db, boardLog } = await createLoggedDatabase();
const service = await startService({ db, config: { boardLog } });
const stoa = createStoaClient(service.url, { apiKey: (await service.register()).key });
const post = (await stoa.posts.createPost({ title: "A race", body: "one" })).post?.id as number;
// More than a page.
for (let n = 0; n < 260; n += 20) {
  const bodies = Array.from({ length: 20 }, (_, index) => `${n + index}`);
  await Promise.all(bodies.map((body) => stoa.comments.createComment({ id: post, body })));
}
await stoa.posts.updatePost({ id: post, body: "two" });
// The log must not grow between two reads.
await untilPublished(service);

it("goes through all entries of the log, each once, or through those from an index on", async () => {
  const entries = await collect(stoa.everyLogEntry());
  expect(entries.length).toBeGreaterThan(262);
  expect(entries.map(({ index }) => index)).toEqual(entries.map((_, at) => at));
  expect(await collect(stoa.everyLogEntry({ from: 250 }))).toEqual(entries.slice(250));
  expect(await collect(stoa.everyLogEntry({ from: entries.length }))).toEqual([]);
});

it("goes through the entries of one item", async () => {
  const entries = await collect(stoa.everyLogEntry({ item: "post", itemId: post }));
  expect(entries.map(({ entry }) => JSON.parse(entry).type)).toEqual(["post", "edit"]);
  await expect(collect(stoa.everyLogEntry({ item: "post" }))).rejects.toMatchObject({ code: "bad_input" });
});

it("gives a proof as it is, and the refusal of one", async () => {
  const { proof } = await stoa.log.getProof({ item: { case: "postId", value: post } });
  const { index } = parseProof(proof?.data as Uint8Array);
  const [created, edited] = await collect(stoa.everyLogEntry({ item: "post", itemId: post }));
  expect([created?.index === index, edited?.index === index]).toEqual([false, true]);
  const removal = { item: { case: "postId", value: post }, of: "removal" } as const;
  await expect(stoa.log.getProof(removal)).rejects.toMatchObject({ code: "not_found" });
});
