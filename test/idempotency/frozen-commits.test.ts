// The database gets the COMMIT of a call, or does not, and no answer comes back: the call ends in time, and its repeat
// tells whether it has happened.
import { randomUUID } from "node:crypto";
import { expect, it, vi } from "vitest";
import type { Cut } from "../support/cutting-proxy.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { createTestDatabase } from "../support/database.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** Resolves once something has not been busy for `ms`. */
async function untilQuiet(isBusy: () => Promise<boolean>, ms: number): Promise<void> {
  let since = performance.now();
  await waitUntil("the service to be quiet", async () => {
    if (await isBusy()) since = performance.now();
    return performance.now() - since > ms;
  });
}

it.each<[Cut, string | null]>([
  ["before", null],
  ["after", "true"],
])("a post whose COMMIT freezes %s the database has it is repeated safely", async (when, replayed) => {
  const db = await createTestDatabase();
  const proxy = await startCuttingProxy(db.config);
  // The service's own clocks would commit as well.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const service = await startService({ db, config: { database: proxy.config, databaseTimeoutMs: 1_500 } });
  vi.useRealTimers();
  const { key } = await service.register();
  // What the service does when it starts commits too: it is over when nothing has run in this database for a while.
  const isBusy = async () => {
    const rows = await db.rows<{ db: string | null; Command: string; Info: string | null }>("SHOW FULL PROCESSLIST");
    return rows.some(
      (row) => row.db === db.config.database && row.Command !== "Sleep" && !row.Info?.startsWith("SHOW"),
    );
  };
  await untilQuiet(isBusy, 300);
  const post = () =>
    service.rest("posts", { key, body: { title: "Said once" }, headers: { "idempotency-key": randomId } });
  const randomId = randomUUID();

  proxy.cutAtText("COMMIT", when, "freeze");
  const first = await post();
  expect(proxy.wasCut()).toBe(true);
  expect(first.status).toBe(503);
  expect(first.body).toMatchObject({ ok: false, error: "unavailable", retry_after_seconds: 1 });
  expect(first.body.message).toContain("did not say whether this call took effect");
  // A frozen connection holds its locks until it is closed; the repeat may have to wait for that.
  let repeated = first;
  await waitUntil("the repeat", async () => {
    repeated = await post();
    return repeated.status === 201;
  });
  expect(repeated.headers.get("idempotency-replayed")).toBe(replayed);
  expect((await service.rest("posts")).body.count).toBe(1);
  expect((await service.rest("communities/general")).body.community.post_count).toBe(1);
});
