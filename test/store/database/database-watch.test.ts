// What the start and the readiness check report about a database server. The test changes the server's settings, so it starts
// its own server.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPool, type PoolConnection } from "mysql2/promise";
import { afterAll, expect, it, onTestFinished } from "vitest";
import type { DatabaseConfig } from "../../../src/config/config.ts";
import { startPrivateServer } from "../../../src/private-database/server/private-server.ts";
import { ensureDatabase } from "../../../src/private-database/setup/ensure-database.ts";
import { DatabaseWatch } from "../../../src/store/database/database-watch.ts";
import { openDatabase } from "../../support/open-database.ts";
import { startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";

const folder = mkdtempSync(join(tmpdir(), "stoa-watch-"));
const server = await startPrivateServer({ dataDir: folder, log: () => {} });
const account = { socketPath: server.socketPath, user: server.user };
await ensureDatabase(account, "stoa");
const config: DatabaseConfig = { ...account, database: "stoa" };
const db = openDatabase(config, 1);
const service = await startService({ db, overrides: { databaseLookMs: 50 } });

afterAll(async () => {
  await service.app.close();
  await db.pool.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ready = () => service.rest("/readyz");

/** Expects a warning that contains `text` and that disappears after `mend`. Reads must be served meanwhile. */
async function expectWarning(text: string, mend: () => Promise<unknown>): Promise<void> {
  await waitUntil(`a warning: ${text}`, async () => (await ready()).body.warning?.includes(text));
  expect((await ready()).status).toBe(200);
  expect((await service.rest("posts")).status).toBe(200);
  expect(service.log.filter(({ level, msg }) => level === 40 && String(msg).includes(text))).toHaveLength(1);
  await mend();
  await waitUntil("the warning to go", async () => !("warning" in (await ready()).body));
}

it("the service warns when the database node is read-only", async () => {
  await db.rows("SET GLOBAL read_only = 1");
  await expectWarning("The database accepts no writes: this node is read-only (read_only).", () =>
    db.rows("SET GLOBAL read_only = 0"),
  );
  expect(service.log.map(({ msg }) => msg)).toContain("the database accepts writes again");
});

it.each([
  [
    "The database accepts no writes: error 1644.",
    "CREATE TRIGGER refuse BEFORE UPDATE ON ledger_verification FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'",
    "DROP TRIGGER refuse",
  ],
  [
    "The database lacks the index comments_author (author_id, id) of comments,",
    "ALTER TABLE comments DROP KEY comments_author",
    "ALTER TABLE comments ADD KEY comments_author (author_id, id)",
  ],
])("the service warns: %s", async (text, spoil, mend) => {
  await db.rows(spoil);
  await expectWarning(text, () => db.rows(mend));
});

it("the service warns when new connections fail while open connections still work", async () => {
  await service.rest("posts");
  await ready();
  await db.rows("SET GLOBAL max_connections = 10");
  const held = createPool({ ...db.config, connectionLimit: 30 });
  const open: PoolConnection[] = [];
  // A running check may hold the last connection; it is free again at the next check.
  await waitUntil("the warning", async () => {
    const more = await held.getConnection().catch(() => undefined);
    if (more !== undefined) open.push(more);
    return "warning" in (await ready()).body;
  });
  await expectWarning("The database accepts no new connections: too many connections.", async () => {
    for (const connection of open) connection.release();
    await held.end();
    await db.rows("SET GLOBAL max_connections = 100");
  });
});

it.each([
  ["a missing table", "RENAME TABLE posts TO posts_away", "RENAME TABLE posts_away TO posts", /lacks the table posts,/],
  [
    "a missing ledger head",
    "UPDATE ledger_head SET id = 2",
    "UPDATE ledger_head SET id = 1",
    /row of ledger_head is missing/,
  ],
])("readiness and the gRPC health check fail with %s", async (_, spoil, mend, message) => {
  await db.rows(spoil);
  try {
    const { status, body } = await ready();
    expect([status, body]).toEqual([
      503,
      expect.objectContaining({ error: "unavailable", message: expect.stringMatching(message) }),
    ]);
    const { Health } = await import("../../../gen/grpc/health/v1/health_pb.js");
    expect((await service.connect(Health, "grpc").check({})).status).toBe(2);
  } finally {
    await db.rows(mend);
  }
  expect((await ready()).status).toBe(200);
  await waitUntil("the warning to go", async () => !("warning" in (await ready()).body));
});

it("the start fails with one line when the database accepts only small packets", async () => {
  await db.rows("SET GLOBAL max_allowed_packet = 65536");
  try {
    await expect(startService({ db })).rejects.toThrow(
      /^The database's max_allowed_packet is 65536 bytes, and Stoa needs 1048576: /,
    );
  } finally {
    await db.rows("SET GLOBAL max_allowed_packet = 16777216");
  }
});

it("the watch tries no write while writes are refused because of a full disk", async () => {
  await db.rows(
    "CREATE TRIGGER refuse BEFORE UPDATE ON ledger_verification FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'",
  );
  let refuses = true;
  let looks = 0;
  const watch = new DatabaseWatch({
    address: db.config,
    log: { info() {}, warn() {} },
    lookMs: 20,
    refusesWrites: () => refuses,
    onLook: async () => void looks++,
  });
  onTestFinished(async () => {
    await watch.stop();
    await db.rows("DROP TRIGGER refuse");
  });
  await waitUntil("three looks", () => looks >= 3);
  expect(watch.writeWarning).toBeUndefined();
  refuses = false;
  await waitUntil("a try", () => watch.writeWarning !== undefined);
});
