// The connection to the database is cut at each command of a call, before it is sent or before its outcome comes back:
// the call has happened whole or not at all, and its repeat tells which.
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { defaultIndexerPace } from "../../src/board/search/indexer.ts";
import { askText } from "../services/replays.ts";
import { type Cut, type CuttingProxy, startCuttingProxy } from "../support/cutting-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { recount, rowCounts } from "../support/recount.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

let db: TestDatabase;
let proxy: CuttingProxy;
let service: Service;
let agent: { name: string; key: string };
let postId: number;

beforeAll(async () => {
  db = await createTestDatabase();
  proxy = await startCuttingProxy(db.config);
  // What the service does by the clock would come between the commands that are counted: its clocks do not tick here, and
  // what it does once after its start is over.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const delayMs = 3_600_000;
  service = await startService({
    db,
    config: { database: proxy.config },
    overrides: { indexerPace: { ...defaultIndexerPace, delayMs }, recountPace: { delayMs } },
  });
  vi.useRealTimers();
  await waitUntil("the work of the start to be over", () => proxy.idleMs() > 300);
  agent = await service.register();
  postId = (await service.rest("posts", { key: agent.key, body: { title: "Discussed" } })).body.post.id;
});

interface Call {
  path: string;
  body: object;
  key?: string;
}

const short = () => randomUUID().slice(0, 8);
const calls: Record<string, { table?: string; make: () => Call | Promise<Call> }> = {
  registration: { table: "agents", make: () => ({ path: "agents/register", body: { name: `agent-${short()}` } }) },
  community: {
    table: "communities",
    make: () => ({ path: "communities", body: { name: `c-${short()}`, title: "A place" }, key: agent.key }),
  },
  post: { table: "posts", make: () => ({ path: "posts", body: { title: `Post ${short()}` }, key: agent.key }) },
  comment: {
    table: "comments",
    make: () => ({ path: `posts/${postId}/comments`, body: { body: "A comment" }, key: agent.key }),
  },
  rotation: {
    make: async () => ({ path: "agents/me/key", body: { grace_seconds: 0 }, key: (await service.register()).key }),
  },
};

describe.each(Object.keys(calls))("a %s whose connection is cut", (kind) => {
  it.each<Cut>(["before", "after"])("%s a command, whichever it is, has happened whole or not at all", async (when) => {
    const { table, make } = calls[kind] as (typeof calls)[string];
    const counts = { happened: 0, not: 0 };
    let resolved = 0;
    for (let number = 1; ; number++) {
      const { path, body, key } = await make();
      const ask = () => askText(service.url, path, { body, key, headers });
      const headers = { "idempotency-key": randomUUID() };
      const before = await rowCounts(db);
      // A refused write, so that each call begins with the connection in the same state, and sends the same commands.
      await service.rest(`posts/${postId}/upvote`, { method: "POST", key: agent.key });
      proxy.cutAt(number, when);
      const first = await ask();
      const wasCut = proxy.wasCut();
      // A call whose COMMIT has got no answer finds out on another connection whether it has happened.
      const isResolved = wasCut && first.status === 201;
      expect([wasCut, first.status]).toEqual(wasCut && !isResolved ? [true, 503] : [wasCut, 201]);
      if (isResolved) resolved += 1;
      if (wasCut && !isResolved) {
        expect(JSON.parse(first.text)).toMatchObject({ ok: false, error: "unavailable", retry_after_seconds: 1 });
      }
      const second = await ask();
      expect(second.status).toBe(201);
      if (first.status === 201) expect(second).toEqual({ ...first, replayed: "true" });
      if (wasCut) counts[second.replayed === "true" ? "happened" : "not"] += 1;
      expect(await ask()).toEqual({ ...second, replayed: "true" });
      const expected = table === undefined ? before : { ...before, [table]: (before[table] as number) + 1 };
      expect(await rowCounts(db)).toEqual(expected);
      const { api_key } = JSON.parse(second.text);
      if (api_key !== undefined) expect((await service.rest("agents/me", { key: api_key })).status).toBe(200);
      if (!wasCut) break;
    }
    // Only the COMMIT, which is one command, is resolved. All other cuts undo the call.
    expect(counts.not).toBeGreaterThan(3);
    expect([counts.happened, resolved]).toEqual([1, 1]);
    expect(await recount(db)).toEqual([]);
  });
});

it.each<Cut>(["before", "after"])(
  "a replay whose COMMIT is cut %s the database has it is still a replay",
  async (when) => {
    const headers = { "idempotency-key": randomUUID() };
    const ask = () => askText(service.url, "posts", { body: { title: "Said once" }, key: agent.key, headers });
    const first = await ask();
    proxy.cutAtText("COMMIT", when);
    expect([first.status, await ask(), proxy.wasCut()]).toEqual([201, { ...first, replayed: "true" }, true]);
  },
);
