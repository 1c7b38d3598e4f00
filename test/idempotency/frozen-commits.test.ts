// The database gets the COMMIT of a call, or does not, and no answer comes back: the call ends in time, and its repeat
// tells whether it has happened.
import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import type { Cut } from "../support/cutting-proxy.ts";
import { createTestDatabase } from "../support/database.ts";
import { serverOf } from "../support/database-link.ts";
import { startRelay } from "../support/relay.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** Each post is known by its title, and so is the connection that has written it: others commit at any time. */
const titles: Record<Cut, string> = { before: "Frozen before", after: "Frozen after" };

const frozen = new Set<Cut>();
let service: Service;
let key: string;

beforeAll(async () => {
  const db = await createTestDatabase();
  const relay = await startRelay(serverOf(db.config), (client, server) => {
    let writes: Cut | undefined;
    let isFrozen: Cut | undefined;
    client.on("data", (bytes) => {
      if (isFrozen !== undefined) return;
      for (const when of ["before", "after"] as const) {
        if (bytes.includes(titles[when]) && !frozen.has(when)) writes = when;
      }
      if (writes !== undefined && bytes.includes("COMMIT")) {
        isFrozen = writes;
        frozen.add(writes);
        if (writes === "before") return;
      }
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (isFrozen === undefined) client.write(bytes);
    });
  });
  const { socketPath: _socketPath, ...account } = db.config;
  const database = { ...account, host: "127.0.0.1", port: relay.port };
  service = await startService({ db, config: { database, databaseTimeoutMs: 2_500 } });
  ({ key } = await service.register());
});

it.each<[Cut, string | null]>([
  ["before", null],
  ["after", "true"],
])("a post whose COMMIT freezes %s the database has it is repeated safely", async (when, replayed) => {
  const count = async () => (await service.rest("communities/general")).body.community.post_count;
  const before = await count();
  const headers = { "idempotency-key": randomUUID() };
  const post = () => service.rest("posts", { key, body: { title: titles[when] }, headers });
  const first = await post();
  expect(frozen).toContain(when);
  expect([first.status, first.body]).toMatchObject([503, { error: "unavailable", retry_after_seconds: 1 }]);
  expect(first.body.message).toContain("did not say whether this call took effect");
  // A frozen connection holds its locks until it is closed; the repeat may have to wait for that.
  let repeated = first;
  await waitUntil("the repeat", async () => {
    repeated = await post();
    return repeated.status === 201;
  });
  expect(repeated.headers.get("idempotency-replayed")).toBe(replayed);
  expect(await count()).toBe(before + 1);
  const { posts } = (await service.rest("posts?sort=new")).body;
  expect(posts.filter(({ title }: { title: string }) => title === titles[when])).toHaveLength(1);
});
