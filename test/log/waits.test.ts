// Requests for what is not published yet wait. One caller cannot take the places of all.
import { beforeAll, expect, it } from "vitest";
import { publishAll, startLogReplica, untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { rawRequest } from "../support/raw-request.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const places = 128;
const more = 32;

let url: string;
let rest: Service["rest"];
let key: string;
/** Comments with a salt whose entries never come. */
const ids = Array.from({ length: places + more }, (_, at) => 1000 + at);

beforeAll(async () => {
  const { db, key: logKey } = await createLoggedDatabase();
  const service = await startService({ db });
  ({ url, rest } = service);
  ({ key } = await service.register());
  await rest("posts", { key, body: { title: "A race" } });
  // A service would wait for a second before it takes the log over.
  const replica = await startLogReplica(db.config, logKey);
  await publishAll(db, replica);
  await untilPublished({ db, url });
  await db.rows("UPDATE log_head SET restored = 1");
  await db.rows(
    `INSERT INTO comments (id, post_id, author_id, body, created_at, noted, salt)
     SELECT n.id, p.id, p.author_id, 'Later', p.created_at, 0, p.salt FROM posts p
     JOIN (${ids.map((id) => `SELECT ${id} AS id`).join(" UNION ALL ")}) n`,
  );
});

// The places of an address are for requests without a key, so those of the agent do not take them.
it.concurrent.each([
  { whose: "from this address", headersOf: () => ({}) },
  { whose: "of this agent", headersOf: () => ({ authorization: `Bearer ${key}` }) },
])("128 requests $whose wait, and more are refused; others still wait", async ({ whose, headersOf }) => {
  const headers: Record<string, string> = headersOf();
  const leaving = new AbortController();
  const refusals: unknown[] = [];
  // Who gets no place leaves. The others ask again after the 5 seconds that one request waits, so all places stay taken.
  const waiting = ids.map(async (id) => {
    for (let status = 503; status === 503; ) {
      const reply = await fetch(`${url}/api/v1/comments/${id}/proof`, { headers, signal: leaving.signal });
      const answer = await reply.json();
      status = reply.status;
      if (status === 429) refusals.push(answer);
    }
  });
  await waitUntil("the refusals", () => refusals.length > 0);
  expect(refusals[0]).toEqual({
    ok: false,
    error: "rate_limited",
    message: `${places} requests ${whose} wait for the log, the maximum.`,
    retry_after_seconds: 1,
  });
  // Nobody else waits for them.
  expect((await rest("feed")).status).toBe(200);
  expect((await fetch(`${url}/log/checkpoint`)).status).toBe(200);
  // A tile that is not there yet is waited for as well, for a second.
  const tile = `${url}/log/tile/entries/000.p/200`;
  await waitUntil("a tile that is refused", async () => (await rawRequest(tile, { headers })).status === 429);
  expect((await rawRequest(tile, { localAddress: "127.0.0.2" })).status).toBe(404);
  leaving.abort();
  await Promise.allSettled(waiting);
  await waitUntil("places", async () => (await rawRequest(tile, { headers })).status === 404);
});
