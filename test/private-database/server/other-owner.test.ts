// Starts on a folder whose service was killed, or runs in another process namespace.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { isRunning } from "../../support/running.ts";
import { waitUntil } from "../../support/wait.ts";
import {
  children,
  copyMade,
  dataDir,
  home,
  lines,
  made,
  orphanServer,
  run,
  serverPid,
  sevenRow,
  start,
  usePrivateServers,
} from "./support.ts";

usePrivateServers();

describe("a start after a kill", () => {
  test("stops the server of the killed service, even a frozen one, and keeps every committed row", async () => {
    const { server, orphan } = await orphanServer(...sevenRow);
    process.kill(orphan, "SIGSTOP");
    const next = await start();
    expect(isRunning(orphan)).toBe(false);
    expect(existsSync(dirname(server.socketPath))).toBe(false);
    expect(lines).toContain(`stopping the database server of an earlier run (process ${orphan})`);
    expect(await run(next, "SELECT n FROM d.t")).toEqual([{ n: 7 }]);
  });

  test("refuses to use the data if the record of the running server is lost", async () => {
    const { server, orphan } = await orphanServer();
    rmSync(join(dataDir, "mysql.json"));
    await expect(start()).rejects.toThrow("is in use by a database server that cannot be seen from here");
    expect(await serverPid(server)).toBe(orphan);
    rmSync(dirname(server.socketPath), { recursive: true });
  });

  test("removes the socket folder of a killed server, and none of another data folder", async () => {
    vi.stubEnv("TMPDIR", home);
    copyMade(join(home, "other"));
    const other = await start({ dataDir: join(home, "other") });
    const { server, orphan } = await orphanServer();
    process.kill(orphan, "SIGKILL");
    await waitUntil("the end of the server", () => !isRunning(orphan));
    await start();
    expect(existsSync(dirname(server.socketPath))).toBe(false);
    expect(await run(other, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("leaves a recorded process alone that is not our server", async () => {
    copyMade();
    const bystander = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    children.push(bystander);
    await once(bystander, "spawn");
    const { dev, ino } = statSync(dataDir);
    const record = { pid: bystander.pid, socketFolder: home, data: `${dev}:${ino}` };
    writeFileSync(join(dataDir, "mysql.json"), JSON.stringify(record));
    writeFileSync(join(dataDir, "mysql/server.pid"), `${bystander.pid}\n`);
    await start();
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
    expect(existsSync(home)).toBe(true);
  });

  test("creates the data again if the killed start left it incomplete", () => {
    expect(readdirSync(made).sort()).toEqual(["lock", "mysql", "mysql.log"]);
  });
});

describe("a start in another process namespace", () => {
  const cannot = cannotUnshare();

  test.skipIf(cannot)("reports that a service it cannot see uses the folder", async () => {
    copyMade();
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
    const { server, orphan } = await orphanServer();
    // Nor does it mistake process ids of another namespace for its own.
    expect(await startUnshared([])).toBe(
      `the data folder ${dataDir} is in use by a database server that cannot be seen from here, such as one in another` +
        " container; stop it first or set STOA_DATA_DIR",
    );
    expect(await serverPid(server)).toBe(orphan);
    // A start that can see the server stops it.
    await start();
    expect(isRunning(orphan)).toBe(false);
  });

  test.skipIf(cannot)("leaves a folder that later starts can use", async () => {
    copyMade();
    expect(await startUnshared()).toBe("started");
    const next = await start();
    expect(await run(next, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

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
