// Which accounts the processes use, on the machine and in the private database. If root starts the service, nothing keeps
// running as root. If another user starts it, everything runs as that user.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { get } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { generate } from "selfsigned";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { splitStatements } from "../../src/store/schema/migration-files.ts";
import { createTestDatabase } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const isRoot = process.getuid?.() === 0;
const grants = splitStatements(readFileSync(new URL("../../src/store/schema/grants.sql", import.meta.url), "utf8"));

let home: string;
let dataDir: string;
let running: ServiceProcess | undefined;
/** A stopped service's data folder, with an agent. Tests copy it, and then it belongs to whoever runs the tests. */
let made: string;
let key: string;
/** What was seen of the first start, which created that folder. */
let first: { users: number[]; folder: Stats; owners: Set<number>; capabilities: string };

function newHome(): void {
  home = mkdtempSync(join(tmpdir(), "stoa-privileges-"));
  chmodSync(home, 0o755);
  dataDir = join(home, "data");
}
async function endHome(): Promise<void> {
  await running?.end("SIGINT");
  running = undefined;
  rmSync(home, { recursive: true });
}

beforeAll(async () => {
  newHome();
  const { service, url, database } = await start();
  key = (await askRest(url, "agents/register", { body: { name: "Ada" } })).body.api_key;
  first = {
    users: [...usersOf(service.pid), ...usersOf(database)],
    folder: statSync(dataDir),
    owners: ownersIn(dataDir),
    capabilities: /^CapEff:\s+(\w+)$/m.exec(readFileSync(`/proc/${service.pid}/status`, "utf8"))?.[1] as string,
  };
  await service.end("SIGINT");
  made = mkdtempSync(join(tmpdir(), "stoa-privileges-"));
  cpSync(dataDir, made, { recursive: true });
  await endHome();
});
afterAll(() => rmSync(made, { recursive: true }));

function copyMade(): void {
  cpSync(made, dataDir, { recursive: true });
}

async function start(
  settings: Record<string, string> = {},
): Promise<{ service: ServiceProcess; url: string; database: number; socketPath: string }> {
  running = new ServiceProcess({ STOA_DATA_DIR: dataDir, ...settings });
  const url = await running.url();
  const { pid, socketFolder } = recordedServer();
  return { service: running, url, database: pid, socketPath: join(socketFolder, "server.sock") };
}

const recordedServer = (): { pid: number; socketFolder: string } =>
  JSON.parse(readFileSync(join(dataDir, "mysql.json"), "utf8"));

/** Returns the real, effective, saved and file system user ids of a process; see proc(5). */
function usersOf(pid: number): number[] {
  const [, ids = ""] = /^Uid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return ids.split(/\s+/).map(Number);
}

function ownersIn(folder: string): Set<number> {
  // readdir follows symbolic links, and one test makes such a link.
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => !name.startsWith("away/"));
  return new Set(names.map((name) => lstatSync(join(folder, name)).uid));
}

async function freeLowPort(): Promise<number> {
  for (let port = 700; port < 1024; port++) {
    const server = createServer().listen(port, "127.0.0.1");
    const free = await Promise.race([
      once(server, "listening").then(() => true),
      once(server, "error").then(() => false),
    ]);
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error("no port below 1024 is free");
}

/** Expects all user ids to be equal, and not to be root if the tests run as root. @returns the user id */
function expectOneAccount(...owners: number[]): number {
  const [uid = 0, ...others] = new Set(owners);
  expect(others).toEqual([]);
  if (isRoot) expect(uid).not.toBe(0);
  else expect(uid).toBe(process.getuid?.());
  return uid;
}

it("the service, its database and their new folder belong to one account, which is not root", () => {
  const uid = expectOneAccount(...first.users, first.folder.uid);
  expect(first.owners).toEqual(new Set([uid]));
  expect(first.folder.mode & 0o777).toBe(0o700);
  if (isRoot) expect(first.capabilities).toMatch(/^0{16}$/);
});

describe("a service that root starts on a data folder of root", () => {
  let url: string;
  let database: number;
  let socketPath: string;
  let outside: string;
  beforeAll(async () => {
    newHome();
    copyMade();
    outside = join(home, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "file"), "");
    symlinkSync(outside, join(dataDir, "mysql", "away"));
    ({ url, database, socketPath } = await start());
  });
  afterAll(async () => {
    rmSync(join(dataDir, "mysql", "away"));
    await endHome();
  });

  it("gives it to its account, without data loss and without changes outside it", async () => {
    expect((await askRest(url, "agents/me", { key })).status).toBe(200);
    expectOneAccount(...usersOf(database), ...ownersIn(join(dataDir, "mysql")), statSync(dataDir).uid);
    const mine = process.getuid?.();
    expect([statSync(outside).uid, statSync(join(outside, "file")).uid]).toEqual([mine, mine]);
  });

  it("uses accounts of the database that have exactly the rights of grants.sql, and cannot change a receipt", async () => {
    expect((await askRest(url, "house/receipts/1")).status).toBe(200);
    // The socket authenticates the machine's user as the database's root.
    const admin = await createConnection({ socketPath, user: "root", database: "stoa" });
    const [threads] = await admin.query("SHOW PROCESSLIST");
    const users = new Set((threads as { User: string }[]).map(({ User }) => User));
    expect(users).toContain("stoa_serving");
    for (const user of ["stoa_serving", "stoa_migration"]) {
      const [rows] = await admin.query(`SHOW GRANTS FOR '${user}'@'localhost'`);
      const held = (rows as object[])
        .map((row) => rightsOf(Object.values(row)[0]))
        .filter((each) => each !== "USAGE *.*");
      expect(held.sort()).toEqual(
        grants
          .filter((statement) => statement.startsWith("GRANT") && statement.includes(user))
          .map(rightsOf)
          .sort(),
      );
    }
    await admin.end();
    const serving = await createConnection({ socketPath, user: "stoa_serving", database: "stoa" });
    for (const sql of ["UPDATE receipts SET hash = ''", "DELETE FROM receipts", "DROP TABLE receipts"]) {
      await expect(serving.query(sql)).rejects.toThrow(/command denied to user 'stoa_serving'/);
    }
    await serving.end();
  });

  it("starts a killed database server again as the same account", async () => {
    process.kill(database, "SIGKILL");
    await waitUntil("another server", () => recordedServer().pid !== database);
    await waitUntil("readiness", async () => (await askRest(url, "/readyz")).status === 200);
    expectOneAccount(...usersOf(recordedServer().pid), statSync(join(dataDir, "mysql")).uid);
  });
});

describe("a service", () => {
  beforeEach(newHome);
  afterEach(endHome);

  it.runIf(isRoot)(
    "that root starts opens a low port and reads a private key, then is the folder's owner",
    async () => {
      const { cert, private: privateKey } = await generate([{ name: "commonName", value: "localhost" }]);
      writeFileSync(join(home, "cert"), cert);
      writeFileSync(join(home, "key"), privateKey, { mode: 0o600 });
      copyMade();
      execFileSync("chown", ["12345:12345", dataDir]);
      const port = await freeLowPort();
      const { service, database } = await start({
        STOA_PORT: String(port),
        STOA_TLS_CERT: join(home, "cert"),
        STOA_TLS_KEY: join(home, "key"),
      });
      expect(new Set([...usersOf(service.pid), ...usersOf(database), ...ownersIn(dataDir)])).toEqual(new Set([12345]));
      const status = await new Promise((resolve, reject) => {
        get({ port, path: "/readyz", rejectUnauthorized: false, agent: false }, (response) =>
          resolve(response.resume().statusCode),
        ).on("error", reject);
      });
      expect(status).toBe(200);
    },
  );

  it("stores the served ledger heads in the data folder even with an external database", async () => {
    const { config, rows } = await createTestDatabase();
    await rows("CREATE USER IF NOT EXISTS stoa_heads IDENTIFIED BY 'secret'");
    await rows(`GRANT ALL ON ${config.database}.* TO stoa_heads`);
    // With a binary log, MySQL lets only accounts with SUPER create triggers.
    await rows("GRANT SUPER ON *.* TO stoa_heads");
    const url = urlOf({ ...config, user: "stoa_heads", password: "secret" });
    running = new ServiceProcess({ STOA_DATA_DIR: dataDir, STOA_DATABASE_URL: url });
    const { status, headers } = await fetch(`${await running.url()}/api/v1/house/receipts/1`);
    expect({ status, cache: headers.get("cache-control") }).toEqual({
      status: 200,
      cache: expect.stringContaining("immutable"),
    });
    expect(ownersIn(dataDir)).toEqual(new Set([expectOneAccount(...usersOf(running.pid), statSync(dataDir).uid)]));
  });

  it.runIf(isRoot)("stays root, but its database does not, if the account cannot reach the folder", async () => {
    copyMade();
    chmodSync(home, 0o700);
    const { service, database } = await start();
    expect(service.output).toMatch(/the service keeps running as root: the account \w+ cannot read /);
    expect(usersOf(service.pid)).toEqual([0, 0, 0, 0]);
    const uid = expectOneAccount(...usersOf(database));
    expect(ownersIn(join(dataDir, "mysql"))).toEqual(new Set([uid]));
    expect(statSync(home).mode & 0o777).toBe(0o700);
    await service.end("SIGINT");
    // The account can reach the folder at the next start, so the service leaves root and keeps its data.
    chmodSync(home, 0o755);
    const next = await start();
    expectOneAccount(...usersOf(next.service.pid));
    expect((await askRest(next.url, "agents/me", { key })).status).toBe(200);
  });

  it.runIf(isRoot)("leaves a folder with other files, and these files, to root", async () => {
    copyMade();
    chmodSync(dataDir, 0o755);
    writeFileSync(join(dataDir, "letters"), "text");
    const { service, database } = await start();
    expect(service.output).toContain("holds more than the database (letters)");
    expectOneAccount(...usersOf(database));
    expect([statSync(dataDir).uid, statSync(join(dataDir, "letters")).uid]).toEqual([0, 0]);
  });
});

/** Turns `GRANT SELECT, INSERT ON …` into `INSERT, SELECT stoa.posts`. */
function rightsOf(statement: string): string {
  const [, rights = "", object = ""] = /^GRANT (.*) ON (\S+) TO /.exec(statement) ?? [];
  return `${rights.split(", ").sort().join(", ")} ${object.replaceAll("`", "")}`;
}
