import { hash } from "node:crypto";
import { createReadStream, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { clientProgram, runClient } from "../../src/store/backup/client-program.ts";
import { writeBackup } from "../../src/store/backup/write-backup.ts";
import { describeSchema } from "../../src/store/schema/schema-dump.ts";
import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema, createTestDatabase, openStore, type TestDatabase } from "../support/database.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { startPopulated } from "./every-column.ts";
import { flavourOf, operate, query } from "./support.ts";

const folder = scratchFolder();
const file = join(folder, "backup.sql");

/** Every byte, and characters that SQL, lines or other encodings could trip over. */
const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const odd = "\0\b\t\n\r\x1a\"'\\%_`;-- \u007f\u0085\u2028\u2029\ufeff\ufffd\u{10ffff}🏛️ a\u0301";

/** Every row of every table that a backup holds, as text, but for what a restore changes: it verifies, and marks the log. */
async function contents({ config }: TestDatabase): Promise<Record<string, string[]>> {
  const columns = await query<{ t: string; c: string }>(
    config,
    `SELECT table_name AS t, column_name AS c FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name NOT IN ('schema_lease', 'address_limits', 'last_fsck', 'log_head', 'ledger_verification') AND table_name NOT LIKE 'search%' ORDER BY 1, ordinal_position`,
  );
  const tables: Record<string, string[]> = {};
  for (const table of new Set(columns.map(({ t }) => t))) {
    const names = columns.filter(({ t }) => t === table).map(({ c }) => `COALESCE(HEX(\`${c}\`), 'NULL')`);
    const rows = await query<{ it: string }>(
      config,
      `SELECT CONCAT_WS(' ', ${names.join(", ")}) AS it FROM \`${table}\``,
    );
    tables[table] = rows.map(({ it }) => it).sort();
  }
  return tables;
}

const source = (await startPopulated()).db;
const { pool } = source;
await pool.query("SET NAMES utf8mb4");
for (const [id, text] of [odd, "é".repeat(30_000), "", " ", "A post"].entries()) {
  await pool.query(
    "INSERT INTO posts (id, community_id, author_id, title, body, created_at) VALUES (?, 1, 1, ?, ?, ?)",
    [2 ** 40 + id, text.slice(0, 300), text, 253402300799999],
  );
}
await pool.query("UPDATE agents SET resident = '9223372036854775807', created_at = '-9223372036854775808' LIMIT 1");
await pool.query("INSERT INTO ledger_sessions (book, session, seq) VALUES (?, '2026-01-01', 1)", [everyByte]);
await pool.query(
  "INSERT INTO idempotency_replies (id, fingerprint, reply, sealed, created_at, due_at) VALUES (?, ?, ?, 1, 2, 3)",
  [everyByte.subarray(0, 32), everyByte.subarray(224), Buffer.alloc(1_200_000, everyByte)],
);
await pool.query("INSERT INTO unfinished_removals VALUES ('agent', 1, 5, 'spam', ?)", [odd]);
await pool.query("INSERT INTO moderation_actors VALUES (1, 1)");
await pool.query("INSERT INTO log_outbox VALUES (700, 'post', 9, '{}')");
await pool.query("REPLACE INTO address_limits (address, kind, arrival) VALUES ('203.0.113.7', 'registrations', 1)");
await pool.query("REPLACE INTO last_fsck VALUES (1, 5, 6, 0, 0, '{}')");
/** What the source had when the backup was made. */
const backedUp = await contents(source);
expect(await operate(source.config, ["backup", file])).toMatchObject({ status: 0 });
/** The backup, restored. No test changes it. */
const restored = await createTestDatabase();
expect(await operate(restored.config, ["restore", file])).toMatchObject({ status: 0 });

// All tests run concurrently: they mostly wait for the programs of the database, and each changes another database.
it.concurrent("stoa restore refuses a database that a service uses, even if its tables were dropped", async () => {
  const service = await startService();
  const { database } = service.db.config;
  await query(service.db.config, `DROP DATABASE ${database}`, `CREATE DATABASE ${database}`);
  const { status, notes } = await operate(service.db.config, ["restore", file]);
  expect(status).toBe(3);
  expect(notes).toEqual([expect.stringMatching(/is in use by .* Stop the service/)]);
  await service.app.close();
});

describe.concurrent("a backup", () => {
  it("can be restored completely after a restore that stopped amid it, which no service accepts, but only once", async () => {
    const target = await createTestDatabase();
    const { config } = target;
    // This account may not insert posts.
    const user = `stoa_half_${config.database.slice(-8)}`;
    const password = `half a "pass\\word", 'one' #1`;
    await query(
      config,
      `CREATE USER '${user}'@'%' IDENTIFIED BY '${password.replace(/['\\]/g, "\\$&")}'`,
      `GRANT SELECT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, TRIGGER ON ${config.database}.* TO '${user}'@'%'`,
      ...["schema_lease", "schema_migrations", "ledger_head", "agents", "agent_limits"].map(
        (table) => `GRANT CREATE, INSERT ON ${config.database}.${table} TO '${user}'@'%'`,
      ),
      // As docs/operating.md says of error 1419.
      `GRANT SUPER ON *.* TO '${user}'@'%'`,
    );
    afterFile(() => query(config, `DROP USER '${user}'@'%'`));
    const half = { ...config, user, password };
    const { status, notes } = await operate(half, ["restore", file]);
    expect(status).toBe(3);
    expect(notes).toEqual([expect.stringMatching(/^stoa restore: \w+: ERROR 1142 .*INSERT command denied/)]);
    expect(await query(config, "SELECT id FROM agents")).toHaveLength(6);
    await expect(startService({ db: target })).rejects.toThrow("A restore into this database was not finished.");
    const backup = await operate(config, ["backup", join(folder, "half.sql")]);
    expect(backup.notes).toEqual([expect.stringContaining("A restore into this database was not finished.")]);
    expect(await operate(config, ["restore", file])).toMatchObject({ status: 0 });
    // This refuses a database that is not empty.
    expect(await operate(config, ["restore", file])).toMatchObject({
      status: 3,
      notes: [expect.stringMatching(/^stoa restore: The database stoa_test_\w+ is not empty: it has \d+ tables/)],
    });
    expect(await contents(target)).toEqual(backedUp);
  });

  it("brings back every value exactly, with the schema and its triggers, but without client addresses and the last fsck", async () => {
    const after = await contents(restored);
    for (const table of Object.keys(backedUp)) expect(after[table], table).toEqual(backedUp[table]);
    // None of them is equal only because it is empty.
    expect(Object.keys(backedUp).filter((table) => backedUp[table]?.length === 0)).toEqual([]);
    const db = openStore(restored, 1);
    const schema = await describeSchema(db.reader(new AbortController().signal));
    expect(schema).toBe(readFileSync(new URL("../../src/store/schema/schema.txt", import.meta.url), "utf8"));
    for (const statement of ["UPDATE receipts SET hash = ''", "DELETE FROM receipts"]) {
      await expect(query(restored.config, statement)).rejects.toThrow("append-only");
    }
    const text = readFileSync(file, "utf8");
    expect(text).not.toMatch(/definer/i);
    // The restored database has not been checked.
    expect(await query(restored.config, "SELECT * FROM last_fsck")).toEqual([]);
    expect(text).not.toContain("203.0.113.7");
  });

  it("marks the log as restored, whichever program runs its statements", async () => {
    const { config } = await createTestDatabase();
    const program = clientProgram("sql", await flavourOf(config));
    const client = runClient(program, ["--binary-mode", config.database], config, new AbortController().signal);
    await pipeline(createReadStream(file), client.input);
    await client.done;
    expect(await query(config, "SELECT restored FROM log_head")).toEqual([{ restored: 1 }]);
  });

  it("of an earlier release can be restored on its engine, and is refused by the other one", async () => {
    const target = await createTestDatabase();
    const vectors = ["mysql-9.7.sql", "mariadb-10.11.sql"].map(
      (name) => new URL(`../vectors/backup/${name}`, import.meta.url).pathname,
    );
    if ((await flavourOf(target.config)) === "mysql") vectors.reverse();
    const [other = "", own = ""] = vectors;
    expect(await operate(target.config, ["restore", other])).toEqual({
      status: 3,
      out: [],
      notes: [
        expect.stringMatching(/^stoa restore: The backup is of M\w+ [\d.]+, and this server is M.* same engine\.$/),
      ],
    });
    expect(await query(target.config, "SHOW TABLES")).toEqual([]);
    expect(await operate(target.config, ["restore", own])).toMatchObject({ status: 0, notes: [] });
    const service = await startService({ db: target });
    const { body } = await service.rest("posts/1");
    expect(body.post).toMatchObject({ title: "Λίθος — 🏛️", body: "one\ntwo'\\", comment_count: 1, score: 1 });
    expect(await operate(target.config, ["fsck"])).toMatchObject({ status: 0, out: [] });
  });
});

it.concurrent("a restore clears an alarm of the ledger if all receipts are good, and keeps it while one is damaged", async () => {
  const { app, db: original } = await startService();
  await app.close();
  await query(
    original.config,
    "UPDATE ledger_verification SET alarm_seq = 1, alarm_fault = 'wrong_hash', alarm_message = 'it was', alarm_at = 5",
    "DROP TRIGGER receipts_are_not_updated",
  );
  const backups = [
    { change: "SET @good = 1", status: 0, alarm: { seq: null, at: null, verified: "1" }, ready: { ok: true } },
    {
      change: "UPDATE receipts SET canonical = '{}'",
      status: 1,
      alarm: { seq: "1", at: "5", verified: "0" },
      ready: { ok: true, warning: expect.stringContaining("The ledger does not verify: receipt 1") },
    },
  ].map((each) => ({ ...each, copy: join(folder, `known-${each.status}.sql`) }));
  for (const { change, copy } of backups) {
    await query(original.config, change);
    expect(await operate(original.config, ["backup", copy])).toMatchObject({ status: 0 });
  }
  const restore = async ({ copy, status, alarm, ready }: (typeof backups)[number]) => {
    const db = await createTestDatabase();
    expect(await operate(db.config, ["restore", copy])).toMatchObject({ status });
    const alarms = "SELECT alarm_seq AS seq, alarm_at AS at, verified_seq AS verified FROM ledger_verification";
    expect(await query(db.config, alarms)).toEqual([alarm]);
    const service = await startService({ db });
    expect((await service.rest("/readyz")).body).toEqual(ready);
  };
  await Promise.all(backups.map(restore));
});

describe.concurrent("stoa backup", () => {
  it("writes no incomplete file, and keeps an existing one", async () => {
    const own = mkdtempSync(join(folder, "own-"));
    const path = join(own, "backup.sql");
    writeFileSync(path, "an earlier backup");
    const empty = await createTestDatabase();
    const { status, notes } = await operate(empty.config, ["backup", path]);
    expect({ status, notes }).toEqual({
      status: 3,
      notes: ["stoa backup: The database is empty: no Stoa has used it yet."],
    });
    const interrupted = AbortSignal.abort(new Error("interrupted"));
    expect(await operate(restored.config, ["backup", path], interrupted)).toMatchObject({ status: 3 });
    expect(readdirSync(own)).toEqual(["backup.sql"]);
    expect(readFileSync(path, "utf8")).toBe("an earlier backup");
    mkdirSync(join(own, "folder"));
    expect(await operate(restored.config, ["backup", join(own, "folder")])).toMatchObject({ status: 3 });
    expect(await operate(restored.config, ["backup"])).toMatchObject({ status: 2 });
  });

  it("does not block a migration, and fails after it", async () => {
    const parts: Buffer[] = [];
    const migrated = "ALTER TABLE agents ADD COLUMN later INT";
    const write = async (part: Buffer) => {
      // The dump program goes on meanwhile.
      if (parts.push(part) === 1) await query(source.config, "SET SESSION lock_wait_timeout = 5", migrated);
    };
    const { signal } = new AbortController();
    const backup = writeBackup({ address: source.config, signal, now: new Date(), write });
    await expect(backup).rejects.toThrow("The database was migrated during the backup. Make it again.");
    await query(source.config, "ALTER TABLE agents DROP COLUMN later");
  });

  it("names tables that are not Stoa's and leaves them out", async () => {
    const { config } = await createDatabaseWithSchema();
    await query(config, "CREATE TABLE strange (n INT)", "INSERT INTO strange VALUES (4711)");
    const path = join(folder, "strange.sql");
    const { status, notes } = await operate(config, ["backup", path]);
    expect(status).toBe(0);
    expect(notes).toEqual(["the table strange is not Stoa's and is not in the backup"]);
    expect(readFileSync(path, "utf8")).not.toContain("strange");
  });
});

describe.concurrent("stoa restore refuses, with one line and without touching the database,", () => {
  let target: TestDatabase;
  beforeAll(async () => {
    target = await createTestDatabase();
  });

  async function expectRefusal(path: string, reason: RegExp): Promise<void> {
    const { status, out, notes } = await operate(target.config, ["restore", path]);
    expect({ status, out }).toEqual({ status: 3, out: [] });
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch(reason);
    expect(notes[0]).not.toContain("\n");
    expect(await query(target.config, "SHOW TABLES")).toEqual([]);
  }

  function changed(name: string, change: (text: string) => string): string {
    const path = join(mkdtempSync(join(folder, "changed-")), name);
    writeFileSync(path, change(readFileSync(file, "latin1")), "latin1");
    return path;
  }

  it("a file that was cut off or changed", async () => {
    for (const [change, reason] of [
      [(text: string) => text.slice(0, -1), /is incomplete/],
      [(text: string) => text.slice(0, text.length >> 1), /is incomplete/],
      [(text: string) => text.replace("A post", "A Post"), /was changed since it was made/],
      [(text: string) => text.replace(/^INSERT INTO `posts` .*\n/m, ""), /was changed since it was made/],
    ] as const)
      await expectRefusal(changed("changed.sql", change), reason);
  });

  it("a file that is missing or not a backup", async () => {
    for (const text of ["CREATE TABLE t (n INT);\n", ""])
      await expectRefusal(
        changed("other.sql", () => text),
        /is not a backup/,
      );
    await expectRefusal(join(folder, "absent.sql"), /no such file/);
    const former = new URL("../vectors/backup/format-1.sql", import.meta.url).pathname;
    await expectRefusal(former, /the format 1, which earlier versions of Stoa wrote\. Restore it with such a version/);
  });

  it.each([
    [
      "a newer version",
      /"name":"0002_ledger"/,
      '"name":"9002_later"',
      /made by a newer version of Stoa \(9002_later\)/,
    ],
    ["a version with other migrations", /("0002_ledger","checksum":)"\w+"/, '$1"0"', /made by another version of Stoa/],
    ["a later format", /"format":2/, '"format":3', /the format 3, which a newer version of Stoa writes/],
  ])("a backup of %s", async (_, part, replacement, reason) => {
    const path = changed("newer.sql", (text) => {
      // With the right checksum: as the other version would have made it.
      const lines = text.slice(0, text.lastIndexOf("-- sha256 ")).replace(part, replacement);
      return `${lines}-- sha256 ${hash("sha256", Buffer.from(lines, "latin1"))}\n`;
    });
    await expectRefusal(path, reason);
  });
});
