import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { initialise } from "../../../src/private-database/server/initialise.ts";
import { processesWith } from "../../app/data-folder.ts";
import { isRunning } from "../../support/running.ts";
import { waitUntil } from "../../support/wait.ts";
import {
  contentOf,
  copyMade,
  dataDir,
  home,
  lines,
  run,
  serverPid,
  sevenRow,
  start,
  usePrivateServers,
} from "./support.ts";

usePrivateServers();

describe("a server", () => {
  test("is durable, speaks utf8mb4, has no network port, and reads and writes no file", async () => {
    copyMade();
    const server = await start();
    const sql =
      "SELECT @@innodb_flush_log_at_trx_commit AS flush, @@character_set_server AS charset, @@skip_networking AS alone, @@log_bin AS log_bin";
    expect(await run(server, sql)).toEqual([{ flush: 1, charset: "utf8mb4", alone: 1, log_bin: 0 }]);
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

  test("keeps its rows over a stop, which leaves only the data behind", async () => {
    copyMade();
    const first = await start();
    await run(first, ...sevenRow);
    const pid = await serverPid(first);
    await Promise.all([first.stop(), first.stop()]);
    await first.stop();
    expect(isRunning(pid)).toBe(false);
    expect(existsSync(dirname(first.socketPath))).toBe(false);
    expect(readdirSync(dataDir).sort()).toEqual(["lock", "mysql", "mysql.log"]);
    expect(await run(await start(), "SELECT n FROM d.t")).toEqual([{ n: 7 }]);
  });

  test("has a short socket path, even if those of its data and of temporary files are long and have spaces", async () => {
    const temporary = join(home, "t".repeat(100));
    mkdirSync(temporary);
    vi.stubEnv("TMPDIR", temporary);
    const long = join(home, "a long name ".repeat(15), "data");
    copyMade(long);
    const server = await start({ dataDir: long });
    expect(server.socketPath.length).toBeLessThan(104);
    expect(await run(server, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("that cannot start is reported with its log, and frees the folder", async () => {
    copyMade();
    await expect(start({ extraArgs: ["--no-such-option=1"] })).rejects.toThrow(/did not start[\s\S]*no-such-option/);
    await start();
  });

  test.each([
    ["while it creates the data", isMakingData, ["lock", "mysql.log"], () => {}],
    ["while its server does not answer", isSpawnedAndFrozen, ["lock", "mysql", "mysql.log"], copyMade],
  ])("can be aborted %s, and leaves nothing running", async (what, hasBegun, left, prepare) => {
    prepare();
    const aborting = new AbortController();
    const started = start({ signal: aborting.signal });
    started.catch(() => {});
    await waitUntil(what, hasBegun);
    aborting.abort(new Error("no longer wanted"));
    await expect(started).rejects.toThrow("no longer wanted");
    expect(readdirSync(dataDir).sort()).toEqual(left);
    expect(processesWith(dataDir)).toEqual([]);
  });
});

/** Whether a start creates the data of its database. */
function isMakingData(): boolean {
  return existsSync(dataDir) && readdirSync(dataDir).some((name) => name.startsWith("mysql.new-"));
}

/** Stops the server that a start has spawned, if there is one. */
function isSpawnedAndFrozen(): boolean {
  const { pid = 0 } = JSON.parse(contentOf(join(dataDir, "mysql.json")) ?? "{}");
  if (pid > 0) process.kill(pid, "SIGSTOP");
  return pid > 0;
}

test("a start on a copy of the folder of a running server does not affect its process, socket or rows", async () => {
  copyMade();
  const first = await start();
  await run(first, ...sevenRow);
  const pid = await serverPid(first);
  const copy = join(home, "copy");
  cpSync(dataDir, copy, { recursive: true });
  // InnoDB may or may not be able to recover such a copy.
  await start({ dataDir: copy }).catch(() => {});
  expect(lines.join()).not.toContain("stopping the database server of an earlier run");
  expect(await serverPid(first)).toBe(pid);
  expect(await run(first, "SELECT n FROM d.t")).toEqual([{ n: 7 }]);
});

test("a killed server is started again on the same socket, and a stop meanwhile ends it for good", async () => {
  copyMade();
  const server = await start();
  const before = await serverPid(server);
  // A cleaner of temporary folders removes those that it finds empty.
  for (const name of ["no-files", "data"]) spawnSync("rmdir", [join(dirname(server.socketPath), name)]);
  process.kill(before, "SIGKILL");
  // The killed server may still answer for a moment.
  await waitUntil("another server", async () => (await serverPid(server).catch(() => before)) !== before);
  const line = `the database server ended unexpectedly (SIGKILL); starting it again, see ${join(dataDir, "mysql.log")}`;
  const isReported = (count: number) => lines.filter((each) => each === `error: ${line}`).length === count;
  expect(isReported(1)).toBe(true);
  await waitUntil("the message", () => lines.includes("the database server is running again"));

  process.kill(await serverPid(server), "SIGKILL");
  await waitUntil("another end", () => isReported(2));
  await server.stop();
  expect(isRunning(Number(contentOf(join(dataDir, "mysql/server.pid")) ?? 0))).toBe(false);
  expect(readdirSync(dataDir).sort()).toEqual(["lock", "mysql", "mysql.log"]);
});

describe("the data folder", () => {
  test("is free for the next start whatever its lock file says, and a second link of that file is not written to", async () => {
    copyMade();
    const other = join(home, "a file of somebody else");
    writeFileSync(other, String(process.pid));
    rmSync(join(dataDir, "lock"));
    linkSync(other, join(dataDir, "lock"));
    await (await start()).stop();
    expect(readFileSync(other, "utf8")).toBe(String(process.pid));
  });

  test("is refused if its lock file is a link to another file", async () => {
    mkdirSync(dataDir);
    writeFileSync(join(home, "target"), "");
    symlinkSync(join(home, "target"), join(dataDir, "lock"));
    await expect(start()).rejects.toThrow("ELOOP");
  });

  test("is locked by one of several simultaneous starts, also after it is renamed", async () => {
    copyMade();
    const outcomes = await Promise.allSettled([start(), start(), start()]);
    const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [String(outcome.reason)] : []));
    expect(failures).toHaveLength(2);
    for (const failure of failures) expect(failure).toContain(`is in use by process ${process.pid};`);
    const renamed = join(home, "renamed");
    renameSync(dataDir, renamed);
    await expect(start({ dataDir: renamed })).rejects.toThrow(
      `the data folder ${renamed} is in use by process ${process.pid}; stop it first or set STOA_DATA_DIR`,
    );
    renameSync(renamed, dataDir);
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
      socketFolder: home,
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
