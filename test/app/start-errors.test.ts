// What the operator reads when a setting is wrong, or when the database or the data folder cannot be used.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { pino } from "pino";
import { describe, expect, inject, it } from "vitest";
import { type Overrides, startApp } from "../../src/app/app.ts";
import { readConfig } from "../../src/config/config.ts";
import { Database } from "../../src/store/database/database.ts";
import { withLease } from "../../src/store/schema/migrate.ts";
import { operateWith } from "../operator/support.ts";
import { afterFile } from "../support/after-file.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { createTestDatabase } from "../support/database.ts";
import { createLinkedDatabase } from "../support/database-link.ts";
import { freePort } from "../support/free-port.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { waitUntil } from "../support/wait.ts";

const account = `stoa_${randomBytes(6).toString("hex")}`;
const password = "hunter2";
const accounts = ["bare", "reader"];
const folder = mkdtempSync(join(tmpdir(), "stoa-start-"));

const db = await createTestDatabase();
const { database } = db.config;
const admin = await createConnection({ ...inject("server"), multipleStatements: true });
for (const name of accounts) await admin.query(`CREATE USER ${account}_${name}@'%' IDENTIFIED BY '${password}'`);
await admin.query(`GRANT SELECT ON ${database}.* TO ${account}_reader@'%'`);
afterFile(async () => {
  for (const name of accounts) await admin.query(`DROP USER ${account}_${name}@'%'`);
  await admin.end();
  rmSync(folder, { recursive: true });
});
const silent = createServer(() => {}).listen(0, "127.0.0.1");
await once(silent, "listening");
/** A server that takes connections and says nothing, as one of another kind does. */
const silentPort = (silent.address() as AddressInfo).port;
afterFile(() => silent.close());

/** The message with which a service does not start. @param onLine gets each line of its log */
async function failure(
  environment: Record<string, string>,
  onLine = (_: string) => {},
  overrides: Overrides = {},
): Promise<string> {
  const base = { STOA_PORT: "0", STOA_METRICS_PORT: "none", STOA_DATABASE_WAIT_SECONDS: "0", STOA_DATA_DIR: folder };
  const log = pino({}, { write: onLine });
  try {
    const app = await startApp(readConfig({ ...base, ...environment }), { log, ...overrides });
    await app.close();
    return "it started";
  } catch (error) {
    return (error as Error).message;
  }
}

const named = (name: string, changes = {}) => urlOf({ ...db.config, user: `${account}_${name}`, password, ...changes });

it("a wrong setting ends the process with one line", async () => {
  const service = new ServiceProcess({ STOA_PORT: "http" });
  expect(await service.exited).toBe(1);
  expect(service.output).toBe('STOA_PORT must be an integer from 0 to 65535, not "http".\n');
});

// Node makes folders under /proc for ever.
it.each(["/proc/x/y", "/etc/passwd", "/etc/passwd/x"])(
  "a data folder that cannot be created is named: %s",
  async (path) => {
    const line = new RegExp(`^STOA_DATA_DIR is ${path}, and this folder cannot be created .*; name another folder$`);
    expect(await failure({ STOA_DATA_DIR: path })).toMatch(line);
  },
);

describe.concurrent("a database that cannot be used", () => {
  it.each<[mistake: string, url: () => string | Promise<string>, line: RegExp]>([
    [
      "a wrong port",
      async () => `mysql://u:${password}@127.0.0.1:${await freePort()}/stoa`,
      /u@127\.0\.0\.1:\d+\/stoa: nothing listens there\. Correct the host and the port/,
    ],
    [
      "an unknown host",
      () => `mysql://u:${password}@db.invalid/stoa`,
      /u@db\.invalid:3306\/stoa: its host name (?:is unknown|cannot be looked up now)\./,
    ],
    [
      "a server of another kind",
      () => `mysql://u:${password}@127.0.0.1:${silentPort}/stoa`,
      /: no MySQL or MariaDB server answers there\. .*firewall/,
    ],
    [
      "a missing socket",
      () => `mysql://u:${password}@localhost/stoa?socket=/nonexistent/db.sock`,
      /u@\/nonexistent\/db\.sock\/stoa: there is no such socket\. /,
    ],
    [
      "a wrong password",
      () => named("bare", { password: `${password}x` }),
      /: it refuses the account\. Correct the user and the password, which is percent-encoded/,
    ],
    ["an account without rights", () => named("bare"), /: the account may not use this database\. GRANT/],
    [
      "a missing database",
      () => urlOf({ ...db.config, database: "stoa_missing" }),
      /\/stoa_missing: it has no database of this name\. .*CREATE DATABASE/,
    ],
    [
      "an account without the right to create tables",
      () => named("reader"),
      /CREATE command denied .* GRANT this account all rights .*STOA_MIGRATION_DATABASE_URL/,
    ],
  ])("is explained in one line: %s", async (mistake, url, line) => {
    const address = await url();
    const message = await failure({ STOA_DATABASE_URL: address });
    expect(message).toMatch(line);
    if (!mistake.includes("create tables")) expect(message).toMatch(/^STOA_DATABASE_URL names [^\n]+\.$/);
    expect(message).not.toContain(password);
  });

  it("is explained by the commands of operators too, and as the account of migrations", async () => {
    const STOA_DATABASE_URL = named("bare", { password: "x" });
    const { status, notes } = await operateWith({ STOA_DATABASE_URL }, ["fsck"]);
    expect(status).toBe(3);
    expect(notes).toEqual([expect.stringMatching(/^stoa fsck: STOA_DATABASE_URL names .*: it refuses the account\. /)]);
    expect(await failure({ STOA_DATABASE_URL: urlOf(db.config), STOA_MIGRATION_DATABASE_URL: named("bare") })).toMatch(
      /^STOA_MIGRATION_DATABASE_URL names .*: the account may not use this database\. /,
    );
  });

  it("is unavailable to an account that has lost its rights, and a migration says what to grant", async () => {
    const { signal } = new AbortController();
    const bare = new Database({ address: { ...db.config, user: `${account}_bare`, password }, connections: 1 });
    afterFile(() => bare.close());
    await expect(bare.reader(signal).rows("SELECT 1")).rejects.toMatchObject({ code: "unavailable" });
    await expect(withLease({ db: bare, signal }, async () => {})).rejects.toThrow(/denied .* GRANT this account all/);
  });

  it("is waited for by a start, as long as the setting says", async () => {
    const linked = await createLinkedDatabase();
    await linked.relay.close();
    const environment = { STOA_DATABASE_URL: urlOf(linked.config) };
    expect(await failure({ ...environment, STOA_DATABASE_WAIT_SECONDS: "1" })).toMatch(
      /: nothing listens there, also after 1 s\. /,
    );
    const waits = Promise.withResolvers<void>();
    const starting = failure({ ...environment, STOA_DATABASE_WAIT_SECONDS: "3600" }, (line) => {
      if (line.includes("nothing listens there. The start waits for it.")) waits.resolve();
    });
    await waits.promise;
    await linked.relay.open();
    expect(await starting).toBe("it started");
  });
});

// A process ends so on SIGTERM: stop-of-starts.test.ts.
describe.concurrent("a start that is stopped ends", () => {
  /** Starts a service on a database, and stops it once something has happened. */
  async function expectStop(address: typeof db.config, hasHappened: () => boolean | Promise<boolean>): Promise<void> {
    const stop = new AbortController();
    const starting = failure({ STOA_DATABASE_URL: urlOf(address) }, undefined, { signal: stop.signal });
    await waitUntil("the moment of the stop", hasHappened);
    stop.abort();
    expect(await starting).toBe("The service is stopping.");
  }

  it("although the COMMIT of its migration gets no answer", async () => {
    const proxy = await startCuttingProxy((await createTestDatabase()).config);
    proxy.cutAtText("COMMIT", "before", "freeze");
    await expectStop(proxy.config, () => proxy.isCut());
  });

  it("although it waits for another replica's migration", async () => {
    const { config, rows } = await createTestDatabase();
    await rows("CREATE TABLE schema_lease (id INT PRIMARY KEY, holder VARCHAR(36), expires_at BIGINT)");
    await rows("INSERT INTO schema_lease VALUES (1, 'another', UNIX_TIMESTAMP() + 3600)");
    await expectStop(config, async () => (await rows("SHOW TABLES LIKE 'schema_migrations'")).length > 0);
  });
});
