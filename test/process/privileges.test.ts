// Which accounts the processes use, on the machine and in the private database. If root starts the service, nothing keeps
// running as root. If another user starts it, everything runs as that user.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
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
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { splitStatements } from "../../src/store/schema/migration-files.ts";
import { createTestDatabase } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { askRest } from "../support/service.ts";

const isRoot = process.getuid?.() === 0;
const grants = splitStatements(readFileSync(new URL("../../src/store/schema/grants.sql", import.meta.url), "utf8"));

let home: string;
let dataDir: string;
let running: ServiceProcess | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "stoa-privileges-"));
  chmodSync(home, 0o755);
  dataDir = join(home, "data");
});
afterEach(async () => {
  await running?.end("SIGINT");
  running = undefined;
  rmSync(home, { recursive: true });
});

async function start(
  settings: Record<string, string> = {},
): Promise<{ service: ServiceProcess; url: string; database: number; socketPath: string }> {
  running = new ServiceProcess({ STOA_DATA_DIR: dataDir, ...settings });
  const url = await running.url();
  const { pid, socketFolder } = JSON.parse(readFileSync(join(dataDir, "mysql.json"), "utf8"));
  return { service: running, url, database: pid, socketPath: join(socketFolder, "server.sock") };
}

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

describe("the accounts on the machine", () => {
  it("the service, its database and their folder belong to one account, which is not root", async () => {
    const { service, url, database } = await start();
    const { status } = await askRest(url, "agents/register", { body: { name: "Ada" } });
    expect(status).toBe(201);
    const uid = expectOneAccount(...usersOf(service.pid), ...usersOf(database), statSync(dataDir).uid);
    expect(ownersIn(dataDir)).toEqual(new Set([uid]));
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    if (isRoot) expect(readFileSync(`/proc/${service.pid}/status`, "utf8")).toMatch(/^CapEff:\s+0{16}$/m);
  });

  it("a data folder owned by root changes its owner, without data loss and without changes outside it", async () => {
    const first = await start();
    const { body } = await askRest(first.url, "agents/register", { body: { name: "Ada" } });
    await first.service.end("SIGINT");
    const outside = join(home, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "file"), "");
    symlinkSync(outside, join(dataDir, "mysql", "away"));
    const mine = process.getuid?.() ?? 0;
    if (isRoot) execFileSync("chown", ["-hR", "0:0", dataDir]);
    const second = await start();
    expect((await askRest(second.url, "agents/me", { key: body.api_key })).status).toBe(200);
    expectOneAccount(...usersOf(second.database), ...ownersIn(join(dataDir, "mysql")), statSync(dataDir).uid);
    expect([statSync(outside).uid, statSync(join(outside, "file")).uid]).toEqual([mine, mine]);
    rmSync(join(dataDir, "mysql", "away"));
  });

  it.runIf(isRoot)("a low port is opened and a private key is read before the process leaves root", async () => {
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
    writeFileSync(join(home, "cert"), cert);
    writeFileSync(join(home, "key"), key, { mode: 0o600 });
    const port = await freeLowPort();
    const { service } = await start({
      STOA_PORT: String(port),
      STOA_TLS_CERT: join(home, "cert"),
      STOA_TLS_KEY: join(home, "key"),
    });
    expectOneAccount(...usersOf(service.pid));
    const status = await new Promise((resolve, reject) => {
      get({ port, path: "/readyz", rejectUnauthorized: false, agent: false }, (response) =>
        resolve(response.resume().statusCode),
      ).on("error", reject);
    });
    expect(status).toBe(200);
  });

  it("the served ledger heads are stored in the data folder even with an external database", async () => {
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

  it("a killed database server is started again as the same account", async () => {
    const { url, database } = await start();
    process.kill(database, "SIGKILL");
    let next = database;
    while (next === database) ({ pid: next } = JSON.parse(readFileSync(join(dataDir, "mysql.json"), "utf8")));
    while ((await askRest(url, "/readyz")).status !== 200);
    expectOneAccount(...usersOf(next), statSync(join(dataDir, "mysql")).uid);
  });

  it.runIf(isRoot)("the service, but not its database, stays root if the account cannot reach the folder", async () => {
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
    expectOneAccount(...usersOf((await start()).service.pid));
  });

  it.runIf(isRoot)("a folder with other files stays owned by root, and so do these files", async () => {
    mkdirSync(dataDir, { mode: 0o755 });
    writeFileSync(join(dataDir, "letters"), "text");
    const { service, database } = await start();
    expect(service.output).toContain("holds more than the database (letters)");
    expectOneAccount(...usersOf(database));
    expect([statSync(dataDir).uid, statSync(join(dataDir, "letters")).uid]).toEqual([0, 0]);
  });

  it.runIf(isRoot)("everything runs as the ordinary account that owns the data folder", async () => {
    mkdirSync(dataDir);
    execFileSync("chown", ["12345:12345", dataDir]);
    const { service, database } = await start();
    expect(new Set([...usersOf(service.pid), ...usersOf(database), ...ownersIn(dataDir)])).toEqual(new Set([12345]));
  });
});

describe("the accounts of the private database", () => {
  it("have exactly the rights of the grants in docs/operating.md, and cannot change a receipt", async () => {
    const { url, socketPath } = await start();
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
});

/** Turns `GRANT SELECT, INSERT ON …` into `INSERT, SELECT stoa.posts`. */
function rightsOf(statement: string): string {
  const [, rights = "", object = ""] = /^GRANT (.*) ON (\S+) TO /.exec(statement) ?? [];
  return `${rights.split(", ").sort().join(", ")} ${object.replaceAll("`", "")}`;
}
