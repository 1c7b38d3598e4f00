// The connection to the database is cut at each command of a call, before it is sent or before its outcome comes back:
// the call has happened whole or not at all, and its repeat tells which.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { defaultIndexerPace } from "../../src/board/search/indexer.ts";
import { askText } from "../services/replays.ts";
import { type Cut, startCuttingProxy } from "../support/cutting-proxy.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { recount, rowCounts } from "../support/recount.ts";
import { startService } from "../support/service.ts";

const db = await createDatabaseWithSchema();
const proxy = await startCuttingProxy(db.config);
// The indexer writes rows of its own, which would be counted.
const delayMs = 3_600_000;
const service = await startService({
  db,
  config: { database: proxy.config },
  overrides: { indexerPace: { ...defaultIndexerPace, delayMs } },
});
const agent = await service.register();
const postId: number = (await service.rest("posts", { key: agent.key, body: { title: "Discussed" } })).body.post.id;

interface Call {
  path: string;
  body: object;
  key?: string;
}

const short = () => randomUUID().slice(0, 8);
// One call whose stored reply is encrypted, one that changes several tables, and one that creates no row.
const calls: Record<string, { table?: string; make: () => Call | Promise<Call> }> = {
  registration: { table: "agents", make: () => ({ path: "agents/register", body: { name: `agent-${short()}` } }) },
  comment: {
    table: "comments",
    make: () => ({ path: `posts/${postId}/comments`, body: { body: "A comment" }, key: agent.key }),
  },
  rotation: {
    make: async () => ({ path: "agents/me/key", body: { grace_seconds: 0 }, key: (await service.register()).key }),
  },
};

/** Makes a call that is cut, and repeats it. It has happened once, and every reply says so. @returns its first status */
async function callAndRepeat(kind: string, arm: () => void): Promise<{ status: number; wasCut: boolean }> {
  const { table, make } = calls[kind] as (typeof calls)[string];
  const { path, body, key } = await make();
  const headers = { "idempotency-key": randomUUID() };
  const ask = () => askText(service.url, path, { body, key, headers });
  const before = await rowCounts(db);
  arm();
  const first = await ask();
  const wasCut = proxy.wasCut();
  if (first.status !== 201) {
    expect([wasCut, first.status]).toEqual([true, 503]);
    expect(JSON.parse(first.text)).toMatchObject({ ok: false, error: "unavailable", retry_after_seconds: 1 });
  }
  const second = await ask();
  expect(second.status).toBe(201);
  if (first.status === 201) {
    expect([first.replayed, second]).toEqual([null, { ...first, replayed: "true" }]);
  } else expect(await ask()).toEqual({ ...second, replayed: "true" });
  const expected = table === undefined ? before : { ...before, [table]: (before[table] as number) + 1 };
  expect(await rowCounts(db)).toEqual(expected);
  const { api_key } = JSON.parse(second.text);
  if (api_key !== undefined) expect((await service.rest("agents/me", { key: api_key })).status).toBe(200);
  return { status: first.status, wasCut };
}

describe.each(Object.keys(calls))("a %s whose connection is cut", (kind) => {
  it.each<Cut>(["before", "after"])("%s a command, whichever it is, has happened whole or not at all", async (when) => {
    // How many commands a call sends depends on the connections that it gets. A call that is not cut has had fewer.
    let number = 0;
    let wasCut: boolean;
    do {
      number += 1;
      ({ wasCut } = await callAndRepeat(kind, () => proxy.cutAt(number, when)));
    } while (wasCut);
    expect(number).toBeGreaterThan(1);
    expect(await recount(db)).toEqual([]);
  });

  it.each<Cut>(["before", "after"])("%s COMMIT finds out whether it has happened, and succeeds", async (when) => {
    const outcome = await callAndRepeat(kind, () => proxy.cutAtText("COMMIT", when));
    expect(outcome).toEqual({ status: 201, wasCut: true });
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
