// Requests for what is not published yet wait. One caller cannot take the places of all.
import { expect, it, vi } from "vitest";
import { publishAll, startLogReplica, untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { rawRequest } from "../support/raw-request.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const places = 128;
const more = 32;

it("128 requests of an address or an agent wait, and more are refused; others still wait", async () => {
  const { db, key: logKey } = await createLoggedDatabase();
  const { url, register, rest } = await startService({ db });
  const { key } = await register();
  await rest("posts", { key, body: { title: "A race" } });
  // A service would wait for a second before it takes the log over.
  await publishAll(db, await startLogReplica(db.config, logKey));
  await untilPublished({ db, url });
  // Comments with a salt whose entries never come.
  const ids = Array.from({ length: places + more }, (_, at) => 1000 + at);
  await db.rows(
    `INSERT INTO comments (id, post_id, author_id, body, created_at, noted, salt)
     SELECT n.id, p.id, p.author_id, 'Later', p.created_at, 0, p.salt FROM posts p
     JOIN (${ids.map((id) => `SELECT ${id} AS id`).join(" UNION ALL ")}) n`,
  );
  // A tile that is not there yet is waited for as well, for a second.
  const tile = `${url}/log/tile/entries/000.p/200`;
  const callers = [
    [{}, "from this address"],
    [{ authorization: `Bearer ${key}` }, "of this agent"],
  ] as const;
  for (const [headers, whose] of callers) {
    const leaving = new AbortController();
    const refusals: unknown[] = [];
    // While the test holds the clock, no wait of 5 seconds ends.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { promise: areRefused, resolve } = Promise.withResolvers<void>();
    const waiting = ids.map(async (id) => {
      const reply = await fetch(`${url}/api/v1/comments/${id}/proof`, { headers, signal: leaving.signal });
      if (refusals.push(await reply.json()) === more) resolve();
    });
    await areRefused;
    vi.useRealTimers();
    const message = `${places} requests ${whose} wait for the log, the maximum.`;
    const refusal = { ok: false, error: "rate_limited", message, retry_after_seconds: 1 };
    expect(refusals).toEqual(Array(more).fill(refusal));
    // Nobody else waits for them.
    expect((await rest("feed")).status).toBe(200);
    expect((await fetch(`${url}/log/checkpoint`)).status).toBe(200);
    expect((await rawRequest(tile, { headers })).status).toBe(429);
    expect((await rawRequest(tile, { localAddress: "127.0.0.2" })).status).toBe(404);
    leaving.abort();
    await Promise.allSettled(waiting);
  }
  const isServed = async (headers: Record<string, string>) => (await rawRequest(tile, { headers })).status === 404;
  await Promise.all(callers.map(([headers]) => waitUntil("places", () => isServed(headers))));
});
