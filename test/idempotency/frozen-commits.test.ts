// The database gets the COMMIT of a call, or does not, and no answer comes back: the call ends in time, and its repeat
// tells whether it has happened.
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { Cut } from "../support/cutting-proxy.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { serverOf } from "../support/database-link.ts";
import { startRelay } from "../support/relay.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** The post is known by its title, and so is the connection that has written it: others commit at any time. */
const title = "Frozen";

/** A service whose connection to the database freezes at the first COMMIT of the post. */
async function startFreezing(when: Cut): Promise<{ service: Service; hasFrozen(): boolean }> {
  const db = await createDatabaseWithSchema();
  let hasFrozen = false;
  const relay = await startRelay(serverOf(db.config), (client, server) => {
    let writes = false;
    let isFrozen = false;
    client.on("data", (bytes) => {
      if (isFrozen) return;
      writes ||= !hasFrozen && bytes.includes(title);
      if (writes && bytes.includes("COMMIT")) {
        isFrozen = true;
        hasFrozen = true;
        if (when === "before") return;
      }
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (!isFrozen) client.write(bytes);
    });
  });
  const { socketPath: _socketPath, ...account } = db.config;
  const database = { ...account, host: "127.0.0.1", port: relay.port };
  const service = await startService({ db, config: { database, databaseTimeoutMs: 2_500 } });
  return { service, hasFrozen: () => hasFrozen };
}

it.concurrent.each<[Cut, string | null]>([
  ["before", null],
  ["after", "true"],
])("a post whose COMMIT freezes %s the database has it is repeated safely", async (when, replayed) => {
  const { service, hasFrozen } = await startFreezing(when);
  const { key } = await service.register();
  const headers = { "idempotency-key": randomUUID() };
  const post = () => service.rest("posts", { key, body: { title }, headers });
  const first = await post();
  expect(hasFrozen()).toBe(true);
  expect([first.status, first.body]).toMatchObject([503, { error: "unavailable", retry_after_seconds: 1 }]);
  expect(first.body.message).toContain("did not say whether this call took effect");
  // A frozen connection holds its locks until it is closed; the repeat may have to wait for that.
  let repeated = first;
  await waitUntil("the repeat", async () => {
    repeated = await post();
    return repeated.status === 201;
  });
  expect(repeated.headers.get("idempotency-replayed")).toBe(replayed);
  expect((await service.rest("communities/general")).body.community.post_count).toBe(1);
  expect((await service.rest("posts?sort=new")).body.posts).toMatchObject([{ title }]);
});
