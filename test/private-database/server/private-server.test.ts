import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection } from "mysql2/promise";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { identify, isRunning } from "../../../src/private-database/lock/process-identity.ts";
import { initialise } from "../../../src/private-database/server/initialise.ts";
import {
  type PrivateServer,
  type PrivateServerOptions,
  startPrivateServer,
} from "../../../src/private-database/server/private-server.ts";

// Real servers, some started three times over.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let home: string;
let dataDir: string;
let lines: string[];
let servers: PrivateServer[];
let children: ChildProcess[];

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "stoa-private-server-")));
  dataDir = join(home, "data");
  lines = [];
  servers = [];
  children = [];
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(servers.map((server) => server.stop()));
  // What an owner that was killed has left, where no later start of the test has tidied up.
  const { socketFolder } = JSON.parse(contentOf(join(dataDir, "mysql.json")) ?? "{}");
  const orphan = identify(Number(contentOf(join(dataDir, "mysql/server.pid"))));
  if (orphan !== undefined) {
    process.kill(orphan.pid, "SIGKILL");
    await until(async () => !isRunning(orphan) || undefined);
  }
  if (socketFolder !== undefined) rmSync(socketFolder, { recursive: true, force: true });
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

describe("start and stop", () => {
  test("rows survive a stop, and a stop leaves nothing behind but the data", async () => {
    const first = await start();
    await run(first, "CREATE DATABASE d", "CREATE TABLE d.t (n INT) ENGINE=InnoDB", "INSERT INTO d.t VALUES (7)");
    const pid = await serverPid(first);
    await first.stop();
    expect(identify(pid)).toBeUndefined();
    expect(existsSync(dirname(first.socketPath))).toBe(false);
    expect(readdirSync(dataDir).sort()).toEqual(["lock", "mysql", "mysql.lock", "mysql.log"]);

    const second = await start();
    expect(await run(second, "SELECT n FROM d.t")).toEqual([{ n: 7 }]);
  });

  test("the server is durable, speaks utf8mb4, and has no network port", async () => {
    const server = await start();
    const sql =
      "SELECT @@innodb_flush_log_at_trx_commit AS flush, @@character_set_server AS charset, @@skip_networking AS alone, @@log_bin AS log_bin";
    expect(await run(server, sql)).toEqual([{ flush: 1, charset: "utf8mb4", alone: 1, log_bin: 0 }]);
  });

  test("no statement reads or writes a file", async () => {
    const server = await start();
    writeFileSync(join(home, "letter"), "dear");
    for (const path of [join(home, "letter"), "/etc/passwd"]) {
      expect(await run(server, `SELECT LOAD_FILE('${path}') AS text`)).toEqual([{ text: null }]);
    }
    const [settings] = (await run(server, "SELECT @@local_infile AS local, @@secure_file_priv AS folder")) as [
      { local: number; folder: string | null },
    ];
    expect(settings.local).toBe(0);
    for (const folder of ["/tmp", settings.folder ?? home]) {
      await expect(run(server, `SELECT 1 INTO OUTFILE '${join(folder, "stolen")}'`)).rejects.toThrow();
    }
  });

  test("stop may be called twice and at once", async () => {
    const server = await start();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
  });

  test("a data folder of more than 150 characters, with spaces, works", async () => {
    const server = await start({ dataDir: join(home, "a long name ".repeat(15), "data") });
    expect(await run(server, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("a long temporary folder makes no socket path that is too long", async () => {
    const long = join(home, "t".repeat(100));
    mkdirSync(long);
    vi.stubEnv("TMPDIR", long);
    const server = await start();
    expect(server.socketPath.length).toBeLessThan(104);
    expect(await run(server, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("a server that cannot start is reported with its log, and frees the folder", async () => {
    await (await start()).stop();
    await expect(start({ extraArgs: ["--no-such-option=1"] })).rejects.toThrow(/did not start[\s\S]*no-such-option/);
    await start();
  });

  test.each([
    ["while it makes the data", "mysql.new-", ["lock", "mysql.lock", "mysql.log"]],
    ["while it waits for the server", "mysql.json", ["lock", "mysql", "mysql.lock", "mysql.log"]],
  ])("a start can be given up %s", async (_, sign, left) => {
    const giveUp = new AbortController();
    const started = start({ signal: giveUp.signal });
    started.catch(() => {});
    await until(
      async () => (existsSync(dataDir) && readdirSync(dataDir).some((name) => name.startsWith(sign))) || undefined,
    );
    giveUp.abort(new Error("no longer wanted"));
    await expect(started).rejects.toThrow("no longer wanted");
    expect(readdirSync(dataDir).sort()).toEqual(left);
  });
});

describe("the lock of the data folder", () => {
  test("refuses a second start and names the holder", async () => {
    await start();
    await expect(start()).rejects.toThrow(
      `the data folder ${dataDir} is in use by process ${process.pid}; stop it first or set STOA_DATA_DIR`,
    );
  });

  test("refuses another process", async () => {
    const { child } = await startOwner();
    await expect(start()).rejects.toThrow(`in use by process ${child.pid};`);
  });

  test("of two starts at once one wins", async () => {
    const outcomes = await Promise.allSettled([start(), start(), start()]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test.each([
    ["a dead process", () => ({ pid: 2 ** 22 + 1, started: "then" })],
    ["an earlier process with the id of a living one", () => ({ pid: process.pid, started: "then" })],
    ["nobody", () => ""],
  ])("is taken over from %s", async (_, holder) => {
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, "lock"), JSON.stringify(holder()));
    await start();
    expect(JSON.parse(readFileSync(join(dataDir, "lock"), "utf8"))).toMatchObject({ ...identify(process.pid) });
  });
});

describe("a second process namespace", () => {
  const cannot = cannotUnshare();

  test.skipIf(cannot)("is told that a service has the folder which it cannot see", async () => {
    const first = await start();
    const before = await serverPid(first);
    expect(await startUnshared()).toBe(
      `the data folder ${dataDir} is in use by a process that cannot be seen from here, such as one in another container;` +
        " stop it first or set STOA_DATA_DIR",
    );
    expect(await serverPid(first)).toBe(before);
    expect(existsSync(join(dataDir, "mysql.json"))).toBe(true);
  });

  test.skipIf(cannot)("is told that a database server works on the folder which it cannot see", async () => {
    const { child, server } = await startOwner();
    const orphan = await serverPid(server);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await startUnshared()).toBe(
      `the data folder ${dataDir} is in use by a database server that cannot be seen from here, such as one in another` +
        " container; stop it first or set STOA_DATA_DIR",
    );
    expect(await serverPid(server)).toBe(orphan);
    // Who sees it stops it.
    await start();
    expect(identify(orphan)).toBeUndefined();
  });

  test.skipIf(cannot)("that sees the process ids of another takes none of them for its own", async () => {
    const { child, server } = await startOwner();
    const orphan = await serverPid(server);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await startUnshared([])).toContain("a database server that cannot be seen from here");
    expect(await serverPid(server)).toBe(orphan);
  });

  test.skipIf(cannot)("that is gone leaves a folder which starts", async () => {
    expect(await startUnshared()).toBe("started");
    const next = await start();
    expect(await run(next, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

describe("a copied folder", () => {
  test("of a server that is stopped starts beside the original", async () => {
    await (await start()).stop();
    const copy = join(home, "copy");
    cpSync(dataDir, copy, { recursive: true });
    const [first, second] = [await start(), await start({ dataDir: copy })];
    expect(await run(first, "SELECT 1 AS one")).toEqual(await run(second, "SELECT 1 AS one"));
  });

  test("of a running server leaves the original alone: its process, its socket and its rows", async () => {
    const first = await start();
    await run(first, "CREATE DATABASE d", "CREATE TABLE d.t (n INT) ENGINE=InnoDB", "INSERT INTO d.t VALUES (7)");
    const pid = await serverPid(first);
    const copy = join(home, "copy");
    cpSync(dataDir, copy, { recursive: true });
    // Whether such a copy can be recovered is InnoDB's to say.
    await start({ dataDir: copy }).catch(() => {});
    expect(lines.join()).not.toContain("stopping the database server of an earlier run");
    expect(await serverPid(first)).toBe(pid);
    expect(await run(first, "SELECT n FROM d.t")).toEqual([{ n: 7 }]);
  });

  test("by hard links, or under another name, is the same folder", async () => {
    await start();
    renameSync(dataDir, join(home, "renamed"));
    await expect(start({ dataDir: join(home, "renamed") })).rejects.toThrow("is in use by process");
    renameSync(join(home, "renamed"), dataDir);
  });
});

describe("temporary folders", () => {
  test("of processes that were killed are removed by the next start, and those in use are not", async () => {
    vi.stubEnv("TMPDIR", home);
    const other = await start({ dataDir: join(home, "other") });
    const { child, server } = await startOwner();
    const orphan = await serverPid(server);
    for (const pid of [child.pid ?? 0, orphan]) process.kill(pid, "SIGKILL");
    await once(child, "exit");
    await until(async () => identify(orphan) === undefined || undefined);
    // Made by somebody else: there is nothing to tell whether it is in use.
    mkdirSync(join(home, "stoa-db-000000"));
    await start();
    expect(existsSync(dirname(server.socketPath))).toBe(false);
    expect(existsSync(join(home, "stoa-db-000000"))).toBe(true);
    expect(await run(other, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

describe("after a kill", () => {
  test("of the service, the next start stops its server and keeps every committed row", async () => {
    const { child, server } = await startOwner();
    await run(server, "CREATE DATABASE d", "CREATE TABLE d.t (n INT) ENGINE=InnoDB", "INSERT INTO d.t VALUES (1), (2)");
    const orphan = identify(await serverPid(server));
    child.kill("SIGKILL");
    await once(child, "exit");
    if (orphan === undefined) throw new Error("the server is gone with its owner");
    expect(isRunning(orphan)).toBe(true);

    const next = await start();
    expect(isRunning(orphan)).toBe(false);
    expect(existsSync(dirname(server.socketPath))).toBe(false);
    expect(lines).toContain(`stopping the database server of an earlier run (process ${orphan.pid})`);
    expect(await run(next, "SELECT n FROM d.t ORDER BY n")).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("of the service before it could record its server, that server is found all the same", async () => {
    const { child, server } = await startOwner();
    const orphan = await serverPid(server);
    child.kill("SIGKILL");
    await once(child, "exit");
    rmSync(join(dataDir, "mysql.json"));
    await start();
    expect(identify(orphan)).toBeUndefined();
    rmSync(dirname(server.socketPath), { recursive: true, force: true });
  });

  test("a recorded process that is not our server is left alone", async () => {
    await (await start()).stop();
    const bystander = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    children.push(bystander);
    await once(bystander, "spawn");
    const identity = identify(bystander.pid ?? 0);
    writeFileSync(join(dataDir, "mysql.json"), JSON.stringify({ ...identity, socketFolder: home }));
    writeFileSync(join(dataDir, "mysql/server.pid"), `${bystander.pid}\n`);
    await start();
    expect(identify(bystander.pid ?? 0)).toEqual(identity);
    expect(existsSync(home)).toBe(true);
  });

  test("of the server, it is started again on the same socket", async () => {
    const server = await start();
    const before = await serverPid(server);
    process.kill(before, "SIGKILL");
    const after = await until(() => serverPid(server).catch(() => undefined));
    expect(after).not.toBe(before);
    const line = `the database server ended unexpectedly (SIGKILL); starting it again, see ${join(dataDir, "mysql.log")}`;
    expect(lines).toContain(`error: ${line}`);
    await until(async () => lines.includes("the database server is back") || undefined);
  });

  test("of the server, a stop during the restart ends it for good", async () => {
    const server = await start();
    process.kill(await serverPid(server), "SIGKILL");
    await until(async () => lines.some((line) => line.includes("ended unexpectedly")) || undefined);
    await server.stop();
    expect(identify(Number(contentOf(join(dataDir, "mysql/server.pid"))))).toBeUndefined();
    expect(readdirSync(dataDir).sort()).toEqual(["lock", "mysql", "mysql.lock", "mysql.log"]);
  });
});

describe("the data folder", () => {
  test("half made by a start that was killed is made anew", async () => {
    mkdirSync(join(dataDir, "mysql.new-abcdef", "mysql"), { recursive: true });
    writeFileSync(join(dataDir, "mysql.new-abcdef", "ibdata1"), "half");
    await start();
    expect(readdirSync(dataDir).filter((name) => name.startsWith("mysql.new-"))).toEqual([]);
  });

  test("of something else is refused", async () => {
    mkdirSync(join(dataDir, "mysql"), { recursive: true });
    writeFileSync(join(dataDir, "mysql", "letters.txt"), "dear");
    await expect(start()).rejects.toThrow("is not the data of a MariaDB or MySQL server");
  });

  test.each([
    ["mysql", "aria_log_control", "was made by MariaDB, but the server found here is MySQL (/bin/other)"],
    ["mariadb", "mysql.ibd", "was made by MySQL, but the server found here is MariaDB (/bin/other)"],
  ] as const)("is refused by %s when the other flavour made it", async (flavour, mark, message) => {
    const folder = join(dataDir, "mysql");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, mark), "");
    const program = { flavour, command: "/bin/other", installDb: undefined, version: "" };
    const { signal } = new AbortController();
    const made = initialise({
      program,
      dataDir,
      folder,
      logFile: join(home, "log"),
      account: undefined,
      log: () => {},
      signal,
    });
    await expect(made).rejects.toThrow(message);
  });
});

async function start(options: Partial<PrivateServerOptions> = {}): Promise<PrivateServer> {
  const server = await startPrivateServer({ dataDir, log: tell, ...options });
  servers.push(server);
  return server;
}

/** Keeps a line of the log, with its level where it has one. */
function tell(line: string, level?: "error"): void {
  lines.push(level === undefined ? line : `${level}: ${line}`);
}

/** Starts the server from a process of its own, which then waits to be killed. */
async function startOwner(): Promise<{ child: ChildProcess; server: PrivateServer }> {
  const module = new URL("../../../src/private-database/server/private-server.ts", import.meta.url).href;
  const script = `
    const { startPrivateServer } = await import(${JSON.stringify(module)});
    process.send(await startPrivateServer({ dataDir: ${JSON.stringify(dataDir)}, log() {} }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  children.push(child);
  const [server] = await Promise.race([once(child, "message"), once(child, "exit").then(() => [])]);
  if (server === undefined) throw new Error("the owner did not start");
  return { child, server: server as PrivateServer };
}

/**
 * Starts the server from a process namespace of its own and stops it.
 * @param proc gives it the /proc of that namespace
 * @returns what came of it
 */
async function startUnshared(proc = ["--mount-proc"]): Promise<string> {
  const module = new URL("../../../src/private-database/server/private-server.ts", import.meta.url).href;
  const script = `
    const { startPrivateServer } = await import(${JSON.stringify(module)});
    try {
      const server = await startPrivateServer({ dataDir: ${JSON.stringify(dataDir)}, log() {} });
      await server.stop();
      console.log("started");
    } catch (error) {
      console.log(error.message);
    }`;
  const args = ["--pid", "--fork", ...proc, "--kill-child", process.execPath, "--input-type=module", "-e", script];
  const child = spawn("unshare", args, { stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  let output = "";
  child.stdout?.on("data", (chunk) => {
    output += chunk;
  });
  await once(child, "close");
  return output.trim();
}

/** Whether this machine keeps tests from making process namespaces. In CI that is a failure; elsewhere it is told, loudly. */
function cannotUnshare(): boolean {
  const { status } = spawnSync("unshare", ["--pid", "--fork", "--mount-proc", "true"]);
  if (status === 0 || process.env.CI) return false;
  process.stderr.write("\nSKIPPED: the tests of process namespaces need an account that may make one (root).\n\n");
  return true;
}

async function run(server: PrivateServer, ...statements: string[]): Promise<unknown> {
  const connection = await createConnection({ socketPath: server.socketPath, user: server.user });
  try {
    let result: unknown;
    for (const sql of statements) [result] = await connection.query(sql);
    return result;
  } finally {
    await connection.end();
  }
}

async function serverPid(server: PrivateServer): Promise<number> {
  // The server writes it before it answers.
  await run(server, "SELECT 1");
  return Number(readFileSync(join(dataDir, "mysql/server.pid"), "utf8"));
}

function contentOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

async function until<T>(probe: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (performance.now() > deadline) throw new Error("it did not happen in time");
    await sleep(10);
  }
}
