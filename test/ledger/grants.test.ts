import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createPool, type Pool } from "mysql2/promise";
import { beforeAll, describe, expect, it } from "vitest";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import type { Config, DatabaseConfig } from "../../src/config/config.ts";
import { splitStatements } from "../../src/store/schema/migration-files.ts";
import { afterFile } from "../support/after-file.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait.ts";
import { asOperator, type LedgerUnderTest, ledgerClient, startLedger, TestClock, verifyLedger } from "./support.ts";

const statements = splitStatements(readFileSync(new URL("../../src/store/schema/grants.sql", import.meta.url), "utf8"));
/** Those for before the tables exist; the others grant rights on tables. */
const accounts = statements.filter((statement) => !/ ON stoa\.(?!\*)/.test(statement));
const tables = statements.filter((statement) => !accounts.includes(statement));

/** Every act of moderation that writes a table of its own, with the service as it was afterwards. */
async function moderateAll(
  service: LedgerUnderTest,
  { path, ada, bob }: { path: string; ada: { key: string }; bob: { key: string; name: string } },
): Promise<void> {
  const done = async (where: string, method: string, key: string, body?: object) => {
    const reply = await service.rest(where, { method, key, ...(body === undefined ? {} : { body }) });
    expect([where, reply.status]).toEqual([where, 200]);
    return reply.body;
  };
  await done(path, "PATCH", ada.key, { body: "Edited" });
  await done(`${path}/report`, "POST", bob.key, { reason: "spam" });
  const comment = (await service.rest(path)).body.comments[0].id;
  await done(`comments/${comment}?reason=spam&note=Why`, "DELETE", ada.key);
  await done(`comments/${comment}/restore`, "POST", ada.key);
  const operator = service.connect(ModerationService, "grpc");
  const postId = BigInt((await service.rest(path)).body.post.id);
  const reason = ModerationReason.SPAM;
  await operator.remove({ postId, reason, keepForDays: 1n }, asOperator);
  await operator.restore({ postId }, asOperator);
  await operator.suspendAgent({ name: bob.name, reason }, asOperator);
  await operator.unsuspendAgent({ name: bob.name }, asOperator);
  await operator.updateCommunity({ name: "general", appoint: [bob.name] }, asOperator);
  const { name } = await service.register();
  await operator.eraseAgent({ name, reason }, asOperator);
}

describe("the accounts of grants.sql", () => {
  let db: TestDatabase;
  let admin: Pool;
  let config: Partial<Config>;
  let serving: Pool;
  const suffix = randomBytes(4).toString("hex");
  const clock = new TestClock("2026-03-01T12:00:00Z");

  /** Runs a statement of grants.sql for this test's database and accounts. */
  async function run(statement: string): Promise<void> {
    const sql = statement
      .replace(" ON stoa.", ` ON ${db.config.database}.`)
      .replace(/'(stoa_\w+)'@'%'/g, `'$1_${suffix}'@'%'`);
    await admin.query(sql);
  }

  beforeAll(async () => {
    db = await createTestDatabase();
    admin = createPool({ ...db.config, connectionLimit: 1 });
    for (const statement of accounts) await run(statement);
    const account = (user: string, password: string): DatabaseConfig => ({
      ...db.config,
      user: `${user}_${suffix}`,
      password,
    });
    config = {
      migrationDatabase: account("stoa_migration", "choose-a-password"),
      database: account("stoa_serving", "choose-another"),
    };
    serving = createPool({ ...(config.database as DatabaseConfig), connectionLimit: 1 });
    // Before the database itself is dropped, and with it what the accounts may do.
    afterFile(async () => {
      await serving.end();
      for (const user of ["stoa_migration", "stoa_serving"]) await admin.query(`DROP USER '${user}_${suffix}'@'%'`);
      await admin.end();
    });
  });

  it("are stopped by MySQL's binary log with one line that says what to do, and by nothing elsewhere", async () => {
    const [{ refused }] = (await db.rows(
      "SELECT @@log_bin AND NOT @@global.log_bin_trust_function_creators AS refused",
    )) as [{ refused: number }];
    const outcome = await startLedger({ db, clock, config }).then(
      () => "it started",
      (error: Error) => error.message,
    );
    if (refused === 0) {
      // The tables are there; what the serving account still lacks is the next part.
      expect(outcome).toMatch(/denied to user 'stoa_serving/);
      return;
    }
    expect(outcome).toMatch(
      /^Migration 0002_ledger failed at statement \d of \d: .*log_bin_trust_function_creators = 1.*STOA_MIGRATION_DATABASE_URL/,
    );
    expect(outcome).not.toContain("\n");
    // The way that the line offers beside the server's setting, which others here share.
    await admin.query(`GRANT SUPER ON *.* TO 'stoa_migration_${suffix}'@'%'`);
    await expect(startLedger({ db, clock, config })).rejects.toThrow(/denied to user 'stoa_serving/);
  });

  it("are told at the start which rights a new version lacks", async () => {
    const later = / ON stoa\.(?:removed_posts|suspensions|moderations) /;
    for (const statement of tables) if (!later.test(statement)) await run(statement);
    const serving = `'stoa_serving_${suffix}'@'%'`;
    await admin.query(`REVOKE DELETE ON ${db.config.database}.posts FROM ${serving}`);
    const message = await startLedger({ db, clock, config }).then(
      () => "it started",
      (error: Error) => error.message,
    );
    const grant = (rights: string, table: string) => `GRANT ${rights} ON ${db.config.database}.${table} TO ${serving};`;
    expect(message).toBe(
      `Commands that a service needs are denied to user ${serving}. As an administrator run: ${[
        grant("DELETE", "posts"),
        grant("INSERT, UPDATE, DELETE", "removed_posts"),
        grant("INSERT, UPDATE, DELETE", "suspensions"),
        grant("INSERT", "moderations"),
      ].join(" ")}`,
    );
    // The statements of the message are what is missing.
    for (const statement of message.match(/GRANT [^;]+/g) ?? []) await admin.query(statement);
  });

  it("bear all of the service: the board, sealing, verification and streams", async () => {
    for (const statement of tables) await run(statement);
    const service = await startLedger({ db, clock, config });
    expect((await service.rest("/readyz")).body).toEqual({ ok: true });
    const ada = await service.register();
    const bob: { name: string; key: string; renewed?: string } = await service.register();
    const created = await service.rest("communities", {
      key: ada.key,
      body: { name: `town-${suffix}`, title: "Town" },
    });
    expect(created.status).toBe(201);
    const posted = await service.rest("posts", {
      key: ada.key,
      body: { title: "A post", community: `town-${suffix}` },
    });
    expect(posted.status).toBe(201);
    const path = `posts/${posted.body.post.id}`;
    expect((await service.rest(`${path}/comments`, { key: bob.key, body: { body: "A comment" } })).status).toBe(201);
    for (const vote of ["upvote", "downvote"]) {
      expect((await service.rest(`${path}/${vote}`, { key: bob.key, method: "POST" })).status).toBe(200);
    }
    expect((await service.rest(`${path}/vote`, { key: bob.key, body: { vote: 0 } })).status).toBe(200);
    await moderateAll(service, { path, ada, bob });
    expect((await service.rest("feed")).body.count).toBe(1);
    const headers = { "idempotency-key": `key-${suffix}-${suffix}-${suffix}-${suffix}` };
    for (const replayed of [null, "true"]) {
      const rotated = await service.rest("agents/me/key", { key: bob.key, body: {}, headers });
      expect([rotated.status, rotated.headers.get("idempotency-replayed")]).toEqual([201, replayed]);
      bob.renewed = rotated.body.api_key;
    }
    expect((await service.rest("agents/me", { key: bob.renewed })).status).toBe(200);
    // As the sweep does after a day.
    await serving.query("DELETE FROM idempotency_replies WHERE due_at <= ? ORDER BY due_at LIMIT 1", [clock.ms]);

    await service.seal();
    clock.set("2026-03-02T00:00:01Z");
    await waitUntil("the daily seal", async () => (await service.rest("house/receipts/3")).status === 200);
    expect((await service.rest("/house/verify")).body).toMatchObject({ verify_ok: true, count: 3 });
    const streamed = [];
    for await (const { receipt } of ledgerClient(service).streamReceipts({})) streamed.push(receipt?.seq);
    expect(streamed).toEqual([1n, 2n, 3n]);
    expect((await verifyLedger(db)).map(({ body }) => body.type)).toEqual(["genesis", "session", "daily"]);
    expect(service.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    await service.app.close();
  });

  // One of each kind of change, and one of each kind of table.
  it.each([
    "UPDATE receipts SET hash = '' WHERE seq = 1",
    "DELETE FROM receipts WHERE seq = 1",
    "TRUNCATE receipts",
    "ALTER TABLE receipts ADD COLUMN other INT",
    "DROP TRIGGER receipts_are_not_updated",
    "REPLACE INTO receipts SELECT seq, hash, prev_hash, 'x' FROM receipts",
    "UPDATE ledger_epoch SET epoch = '2020-01-01'",
    "DELETE FROM ledger_sessions",
    "DELETE FROM agents",
    "UPDATE moderations SET reason = 'spam'",
    "DELETE FROM reports",
    "UPDATE schema_migrations SET finished = 0",
  ])("let the serving one not: %s", async (statement) => {
    await expect(serving.query(statement)).rejects.toThrow(/command denied to user/);
  });

  it("notice missing triggers and put them back where the account may; the serving one alone warns of nothing", async () => {
    const drop = async () => {
      for (const name of ["receipts_are_not_updated", "receipts_are_not_deleted"])
        await db.rows(`DROP TRIGGER ${name}`);
    };
    await drop();
    const address = config.database as DatabaseConfig;
    const alone = await startLedger({ db, clock, config: { database: address } });
    expect((await alone.rest("/readyz")).body).toEqual({ ok: true });
    await alone.app.close();

    const service = await startLedger({ db, clock, config, overrides: { databaseLookMs: 50 } });
    const ready = async () => (await service.rest("/readyz")).body;
    expect(await ready()).toEqual({ ok: true });
    expect(service.log.filter(({ msg }) => /has been restored$/.test(String(msg)))).toHaveLength(2);
    await expect(db.rows("DELETE FROM receipts WHERE seq = 1")).rejects.toThrow("receipts are append-only");
    await drop();
    const both = /lacks the triggers receipts_are_not_updated and receipts_are_not_deleted, as after a restore/;
    await waitUntil("the warning", async () => both.test((await ready()).warning));
  });
});
