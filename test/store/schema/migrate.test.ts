import { readdirSync } from "node:fs";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { migrate } from "../../../src/store/schema/migrate.ts";
import { splitStatements } from "../../../src/store/schema/migration-files.ts";
import { schemaState } from "../../../src/store/schema/migration-records.ts";
import { afterFile } from "../../support/after-file.ts";
import { createDatabaseWithSchema, createTestDatabase, type TestDatabase } from "../../support/database.ts";

const log = () => {};

let test: TestDatabase;
let db: Database;

function open(made: TestDatabase): void {
  test = made;
  const opened = new Database({ address: made.config, connections: 2 });
  db = opened;
  afterFile(() => opened.close());
}

describe("migrations of an empty database", () => {
  beforeEach(async () => open(await createTestDatabase()));

  it("run once when five replicas start at once", async () => {
    const replicas = Array.from({ length: 5 }, () => new Database({ address: test.config, connections: 2 }));
    const lines: string[] = [];
    await Promise.all(replicas.map((replica) => migrate(replica, { log: (line) => lines.push(line) })));
    await Promise.all(replicas.map((replica) => replica.close()));
    const files = readdirSync(new URL("../../../src/store/schema/migrations/", import.meta.url)).sort();
    const migrated = lines.filter((line) => line.startsWith("migrating"));
    expect(migrated).toEqual(files.map((file) => `migrating the database: ${file.replace(".sql", "")}`));
    expect(await schemaState(db)).toEqual({ kind: "current" });
    expect(await test.rows("SELECT name FROM communities")).toEqual([{ name: "general" }]);
    expect(await test.rows("SELECT holder FROM schema_lease")).toEqual([{ holder: "" }]);
  });

  it("name the failed statement and the remedy, and then continue", async () => {
    // A foreign key of the same name blocks the migration: names of foreign keys are unique in a database.
    await test.rows("CREATE TABLE parent (id BIGINT PRIMARY KEY)");
    await test.rows(
      "CREATE TABLE other (id BIGINT, CONSTRAINT comments_on_post FOREIGN KEY (id) REFERENCES parent (id))",
    );
    await expect(migrate(db, { log })).rejects.toThrow(/0001_board failed at statement 5 of 6.*start again/s);
    await test.rows("DROP TABLE other");
    await migrate(db, { log });
    expect(await schemaState(db)).toEqual({ kind: "current" });
  });
});

describe("migrations of a database that has had them", () => {
  beforeEach(async () => open(await createDatabaseWithSchema()));

  it("change nothing when they run again", async () => {
    const before = await test.rows("SELECT * FROM communities");
    const lines: string[] = [];
    await migrate(db, { log: (line) => lines.push(line) });
    expect(lines).toEqual([]);
    expect(await test.rows("SELECT * FROM communities")).toEqual(before);
  });

  it("refuse an ALTER TABLE whose column already exists for another reason", async () => {
    await test.rows("DELETE FROM schema_migrations WHERE version >= 3");
    await expect(migrate(db, { log })).rejects.toThrow(/0003_top_windows failed at statement 1 of 2.*age_band/);
  });

  it("refuse a database of a newer version, and a database made by a different migration file", async () => {
    await test.rows(
      "INSERT INTO schema_migrations (version, name, checksum, finished) VALUES (999, '0999_future', '', 1)",
    );
    await expect(migrate(db, { log })).rejects.toThrow("newer version of Stoa (0999_future)");
    expect(await schemaState(db)).toMatchObject({ kind: "ahead", reason: expect.stringContaining("0999_future") });
    await test.rows("DELETE FROM schema_migrations WHERE version = 999");
    await test.rows("UPDATE schema_migrations SET checksum = REPEAT('0', 64)");
    await expect(migrate(db, { log })).rejects.toThrow("0001_board differs from the one that created this database");
  });

  it("wait when another replica has taken their lease, and go on when that lease has expired", async () => {
    await test.rows("UPDATE schema_migrations SET finished = 0");
    const lines: string[] = [];
    let taken: Promise<unknown> | undefined;
    const take = (line: string) => {
      lines.push(line);
      taken ??= test.rows("UPDATE schema_lease SET holder = 'another', expires_at = UNIX_TIMESTAMP() + 2");
    };
    await migrate(db, { log: take });
    await taken;
    expect(lines).toContain(
      "waiting for another replica that migrates the database; if that replica died, its lease expires within 15 s",
    );
    expect(await schemaState(db)).toEqual({ kind: "current" });
    expect(await test.rows("SELECT holder FROM schema_lease")).toEqual([{ holder: "" }]);
  });

  it("take over a lease that nobody renews, even if a wrong clock set its end years ahead", async () => {
    await test.rows("UPDATE schema_migrations SET finished = 0");
    await test.rows("UPDATE schema_lease SET holder = 'another', expires_at = UNIX_TIMESTAMP() + 94608000");
    // The fake clock runs 15 times as fast, so the lease ends within 1 s instead of 15 s.
    const real = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => real() * 15);
    onTestFinished(() => clock.mockRestore());
    // The time limit of calls runs by that clock too.
    const patient = new Database({ address: test.config, connections: 2, timeoutMs: 15 * 60_000 });
    afterFile(() => patient.close());
    await migrate(patient, { log });
    expect(await schemaState(patient)).toEqual({ kind: "current" });
    expect(await test.rows("SELECT holder FROM schema_lease")).toEqual([{ holder: "" }]);
  });
});

describe("a migration file", () => {
  it("is split at semicolons at line ends, and its comments are dropped", () => {
    expect(splitStatements("-- one; two\nSELECT ';' ;\n\nSELECT\n  2;")).toEqual(["SELECT ';'", "SELECT\n  2"]);
  });
});
