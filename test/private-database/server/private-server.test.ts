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

// These tests run real servers, and some start three of them.
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
  // A killed owner leaves a server and files behind if no later start of the test has cleaned up.
  const { socketFolder } = JSON.parse(contentOf(join(dataDir, "mysql.json")) ?? "{}");
  const orphan = identify(Number(contentOf(join(dataDir, "mysql/server.pid"))));
  if (orphan !== undefined) {
    process.kill(orphan.pid, "SIGKILL");
    await until(async () => !isRunning(orphan) || undefined);
  }
  if (socketFolder !== undefined) rmSync(socketFolder, { recursive: true, force: true });
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

describe("starting and stopping", () => {
  test("rows survive a stop, and a stop leaves only the data behind", async () => {
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
    writeFileSync(join(home, "letter"), "text");
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

  test("the socket path stays short even if the path of the temporary folder is long", async () => {
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
    ["while it creates the data", "mysql.new-", ["lock", "mysql.lock", "mysql.log"]],
    ["while it waits for the server", "mysql.json", ["lock", "mysql", "mysql.lock", "mysql.log"]],
  ])("a start can be aborted %s", async (_, sign, left) => {
    const aborting = new AbortController();
    const started = start({ signal: aborting.signal });
    started.catch(() => {});
    await until(
      async () => (existsSync(dataDir) && readdirSync(dataDir).some((name) => name.startsWith(sign))) || undefined,
    );
    aborting.abort(new Error("no longer wanted"));
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

  test("refuses a start by another process", async () => {
    const { child } = await startOwner();
    await expect(start()).rejects.toThrow(`in use by process ${child.pid};`);
  });

  test("lets one of several simultaneous starts win", async () => {
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

describe("a start in another process namespace", () => {
  const cannot = cannotUnshare();

  test.skipIf(cannot)("reports that a service it cannot see uses the folder", async () => {
    const first = await start();
    const before = await serverPid(first);
    expect(await startUnshared()).toBe(
      `the data folder ${dataDir} is in use by a process that cannot be seen from here, such as one in another container;` +
        " stop it first or set STOA_DATA_DIR",
    );
    expect(await serverPid(first)).toBe(before);
    expect(existsSync(join(dataDir, "mysql.json"))).toBe(true);
  });

  test.skipIf(cannot)("reports that a database server it cannot see uses the folder", async () => {
    const { child, server } = await startOwner();
    const orphan = await serverPid(server);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await startUnshared()).toBe(
      `the data folder ${dataDir} is in use by a database server that cannot be seen from here, such as one in another` +
        " container; stop it first or set STOA_DATA_DIR",
    );
    expect(await serverPid(server)).toBe(orphan);
    // A start that can see the server stops it.
    await start();
    expect(identify(orphan)).toBeUndefined();
  });

  test.skipIf(cannot)("does not mistake process ids of another namespace for its own", async () => {
    const { child, server } = await startOwner();
    const orphan = await serverPid(server);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await startUnshared([])).toContain("a database server that cannot be seen from here");
    expect(await serverPid(server)).toBe(orphan);
  });

  test.skipIf(cannot)("leaves a folder that later starts can use", async () => {
    expect(await startUnshared()).toBe("started");
    const next = await start();
    expect(await run(next, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

describe("a copied data folder", () => {
  test("starts beside the original if the server was stopped", async () => {
    await (await start()).stop();
    const copy = join(home, "copy");
    cpSync(dataDir, copy, { recursive: true });
    const [first, second] = [await start(), await start({ dataDir: copy })];
    expect(await run(first, "SELECT 1 AS one")).toEqual(await run(second, "SELECT 1 AS one"));
  });

  test("of a running server does not affect the process, socket or rows of the original", async () => {
    const first = await start();
    await run(first, "CREATE DATABASE d", "CREATE TABLE d.t (n INT) ENGINE=InnoDB", "INSERT INTO d.t VALUES (7)");
    const pid = await serverPid(first);
    const copy = join(home, "copy");
    cpSync(dataDir, copy, { recursive: true });
    // InnoDB may or may not be able to recover such a copy.
    await start({ dataDir: copy }).catch(() => {});
    expect(lines.join()).not.toContain("stopping the database server of an earlier run");
    expect(await serverPid(first)).toBe(pid);
    expect(await run(first, "SELECT n FROM d.t")).toEqual([{ n: 7 }]);
  });

  test("is the same folder if it was only renamed", async () => {
    await start();
    renameSync(dataDir, join(home, "renamed"));
    await expect(start({ dataDir: join(home, "renamed") })).rejects.toThrow("is in use by process");
    renameSync(join(home, "renamed"), dataDir);
  });
});

describe("a start", () => {
  test("removes the temporary folders of killed processes, and keeps those in use", async () => {
    vi.stubEnv("TMPDIR", home);
    const other = await start({ dataDir: join(home, "other") });
    const { child, server } = await startOwner();
    const orphan = await serverPid(server);
    for (const pid of [child.pid ?? 0, orphan]) process.kill(pid, "SIGKILL");
    await once(child, "exit");
    await until(async () => identify(orphan) === undefined || undefined);
    // Somebody else made this folder, so nothing shows whether it is in use.
    mkdirSync(join(home, "stoa-db-000000"));
    await start();
    expect(existsSync(dirname(server.socketPath))).toBe(false);
    expect(existsSync(join(home, "stoa-db-000000"))).toBe(true);
    expect(await run(other, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

describe("recovery from a kill", () => {
  test("the next start after a killed service stops its server and keeps every committed row", async () => {
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

  test("the next start finds the server even if the service was killed before it recorded the server", async () => {
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

  test("a killed server is started again on the same socket", async () => {
    const server = await start();
    const before = await serverPid(server);
    process.kill(before, "SIGKILL");
    const after = await until(() => serverPid(server).catch(() => undefined));
    expect(after).not.toBe(before);
    const line = `the database server ended unexpectedly (SIGKILL); starting it again, see ${join(dataDir, "mysql.log")}`;
    expect(lines).toContain(`error: ${line}`);
    await until(async () => lines.includes("the database server is running again") || undefined);
  });

  test("a stop during the restart of a killed server ends the server for good", async () => {
    const server = await start();
    process.kill(await serverPid(server), "SIGKILL");
    await until(async () => lines.some((line) => line.includes("ended unexpectedly")) || undefined);
    await server.stop();
    expect(identify(Number(contentOf(join(dataDir, "mysql/server.pid"))))).toBeUndefined();
    expect(readdirSync(dataDir).sort()).toEqual(["lock", "mysql", "mysql.lock", "mysql.log"]);
  });
});

describe("the data folder", () => {
  test("is created again if a killed start left it incomplete", async () => {
    mkdirSync(join(dataDir, "mysql.new-abcdef", "mysql"), { recursive: true });
    writeFileSync(join(dataDir, "mysql.new-abcdef", "ibdata1"), "half");
    await start();
    expect(readdirSync(dataDir).filter((name) => name.startsWith("mysql.new-"))).toEqual([]);
  });

  test("is refused if it holds something else", async () => {
    mkdirSync(join(dataDir, "mysql"), { recursive: true });
    writeFileSync(join(dataDir, "mysql", "letters.txt"), "text");
    await expect(start()).rejects.toThrow("is not the data of a MariaDB or MySQL server");
  });

  test.each([
    ["mysql", "aria_log_control", "was created by MariaDB, but the server found here is MySQL (/bin/other)"],
    ["mariadb", "mysql.ibd", "was created by MySQL, but the server found here is MariaDB (/bin/other)"],
  ] as const)("is refused by %s if the other flavour created it", async (flavour, mark, message) => {
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
  const server = await startPrivateServer({ dataDir, log: record, ...options });
  servers.push(server);
  return server;
}

/** Records a line of the log, with its level if it has one. */
function record(line: string, level?: "error"): void {
  lines.push(level === undefined ? line : `${level}: ${line}`);
}

/** Starts the server from a separate process, which then waits to be killed. */
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
 * Starts the server in a separate process namespace and stops it.
 * @param proc the options of unshare that mount the /proc of that namespace
 * @returns "started", or the message of the error
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

/** Returns whether this machine forbids process namespaces. Then these tests fail in CI and are skipped with a notice elsewhere. */
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
  // The server writes its pid file before it answers.
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
