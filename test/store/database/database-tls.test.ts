// TLS to the database. The test starts its own MariaDB with certificates of its own certificate authority.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { generate } from "selfsigned";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../../../src/app/app.ts";
import { readConfig } from "../../../src/config/config.ts";
import { type PrivateServer, startPrivateServer } from "../../../src/private-database/server/private-server.ts";
import { clientProgram, runClient } from "../../../src/store/backup/client-program.ts";
import { Database } from "../../../src/store/database/database.ts";
import type { DatabaseAddress } from "../../../src/store/database/pool/socket.ts";
import { operateWith } from "../../operator/support.ts";
import { freePort } from "../../support/free-port.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "stoa-tls-"));
// The server does not run as root but must read its certificate in this folder.
chmodSync(folder, 0o755);
const file = (name: string, text?: string) => {
  const path = join(folder, name);
  if (text !== undefined) writeFileSync(path, text);
  return path;
};
let server: PrivateServer;
let port: number;

async function authority(name: string) {
  return generate([{ name: "commonName", value: name }], {
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
}

beforeAll(async () => {
  const [ca, other] = await Promise.all([authority("Our authority"), authority("Another authority")]);
  const issuer = { ca: { key: ca.private, cert: ca.cert } };
  const subject = [{ name: "commonName", value: "database" }];
  const altNames = [
    { type: 2, value: "localhost" },
    { type: 7, ip: "127.0.0.1" },
  ] as const;
  const { cert, private: key } = await generate(subject, {
    ...issuer,
    extensions: [{ name: "subjectAltName", altNames: [...altNames] }],
  });
  file("ca.pem", ca.cert);
  file("other.pem", other.cert);
  port = await freePort();
  server = await startPrivateServer({
    dataDir: join(folder, "data"),
    log: () => {},
    extraArgs: [
      "--skip-networking=0",
      `--port=${port}`,
      "--bind-address=*",
      `--ssl-ca=${file("ca.pem")}`,
      `--ssl-cert=${file("cert.pem", cert)}`,
      `--ssl-key=${file("key.pem", key)}`,
    ],
  });
  const admin = await createConnection({ socketPath: server.socketPath, user: server.user });
  await admin.query("CREATE DATABASE stoa");
  await admin.query("CREATE USER 'tls'@'%' IDENTIFIED BY 'secret' REQUIRE SSL");
  await admin.query("GRANT ALL ON stoa.* TO 'tls'@'%'");
  await admin.end();
});
afterAll(async () => {
  await (server as PrivateServer | undefined)?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const urlTo = (host: string, query: string) => `mysql://tls:secret@${host}:${port}/stoa${query}`;
const ca = (name: string) => `?ssl=true&ssl_ca=${encodeURIComponent(file(name))}`;

/** Returns the cipher of a connection to this address, "" without TLS. */
async function cipher(url: string): Promise<string | undefined> {
  const { database: address } = readConfig({ STOA_DATABASE_URL: url });
  const db = new Database({ address: address as NonNullable<typeof address>, connections: 1 });
  try {
    const sql = "SHOW SESSION STATUS LIKE 'Ssl_cipher'";
    return (await db.reader(never).rows<{ Value: string }>(sql))[0]?.Value;
  } finally {
    await db.close();
  }
}

/** Starts the service with this database address and returns the error message, or "it started". */
async function failure(url: string): Promise<string> {
  const settings = { STOA_DATABASE_WAIT_SECONDS: "0", STOA_PORT: "0", STOA_LOG_LEVEL: "silent" };
  const config = readConfig({ STOA_DATABASE_URL: url, ...settings });
  return startApp(config).then(
    async (app) => {
      await app.close();
      return "it started";
    },
    (error: Error) => error.message,
  );
}

describe("a database server whose certificate a private authority signed", () => {
  it.each(["localhost", "127.0.0.1"])("accepts TLS connections to %s", async (host) => {
    expect(await cipher(urlTo(host, ca("ca.pem")))).toMatch(/^TLS_|_|-/);
    expect(await cipher(urlTo(host, `?ssl_ca=${file("ca.pem")}`))).toMatch(/./);
  });

  it("may close an idle connection: the next call opens another, and the pool can be closed", async () => {
    const { database: address } = readConfig({ STOA_DATABASE_URL: urlTo("localhost", ca("ca.pem")) });
    const db = new Database({ address: address as NonNullable<typeof address>, connections: 1 });
    const id = async () => (await db.reader(never).rows<{ id: number }>("SELECT CONNECTION_ID() AS id"))[0]?.id;
    const first = await id();
    const admin = await createConnection({ socketPath: server.socketPath, user: server.user });
    await admin.query(`KILL ${first}`);
    await admin.end();
    await waitUntil("another connection", async () => (await id().catch(() => first)) !== first);
    await db.close();
  });

  it("lets the programs of the engine back the database up, and refuses those that do not trust it", async () => {
    const backUp = (host: string, query: string) =>
      operateWith({ STOA_DATABASE_URL: urlTo(host, query) }, ["backup", file("backup.sql")]);
    expect(await failure(urlTo("localhost", ca("ca.pem")))).toBe("it started");
    for (const host of ["localhost", "127.0.0.1"]) {
      expect(await backUp(host, ca("ca.pem"))).toMatchObject({ status: 0, notes: [] });
    }
    const admin = await createConnection({ socketPath: server.socketPath, user: server.user });
    await admin.query("DROP DATABASE stoa");
    await admin.query("CREATE DATABASE stoa");
    await admin.end();
    const restored = await operateWith({ STOA_DATABASE_URL: urlTo("localhost", ca("ca.pem")) }, [
      "restore",
      file("backup.sql"),
    ]);
    expect(restored).toMatchObject({ status: 0, notes: [] });
    // The driver asks first, and so is the one that refuses.
    for (const [host, query] of [
      ["localhost", ca("other.pem")],
      ["127.0.0.2", ca("ca.pem")],
    ] as const) {
      expect(await backUp(host, query)).toMatchObject({ status: 3, notes: [expect.stringMatching(/certificat/)] });
      const { database } = readConfig({ STOA_DATABASE_URL: urlTo(host, query) });
      const program = runClient(
        clientProgram("sql", "mariadb"),
        ["-e", "SELECT 1", "stoa"],
        database as DatabaseAddress,
        never,
      );
      await expect(program.done).rejects.toThrow(/ERROR 2026 .*(?:certificate|SSL|TLS)/);
    }
  });

  it.each([
    ["localhost", "?ssl=true", /^STOA_DATABASE_URL names .*: TLS failed: .*certificate.*\.$/],
    ["localhost", ca("other.pem"), /^STOA_DATABASE_URL names .*: TLS failed: .*certificate.*\.$/],
    [
      "127.0.0.2",
      ca("ca.pem"),
      /^STOA_DATABASE_URL names .*: TLS failed: .*does not match certificate's altnames.*127\.0\.0\.2/,
    ],
  ])("is rejected with one line when the address is %s %s", async (host, query, expected) => {
    const line = await failure(urlTo(host, query));
    expect(line).toMatch(expected);
    expect(line).not.toContain("\n");
  });

  it("denies a connection without TLS when the account requires TLS", async () => {
    expect(await failure(urlTo("127.0.0.1", ""))).toMatch(/: it refuses the account\. /);
  });
});
