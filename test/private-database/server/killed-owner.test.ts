// Starts on a folder whose service was killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
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

  test("creates the data again if the killed start left it incomplete", async () => {
    mkdirSync(join(dataDir, "mysql.new-abcdef", "mysql"), { recursive: true });
    writeFileSync(join(dataDir, "mysql.new-abcdef", "ibdata1"), "half");
    await start();
    expect(readdirSync(dataDir).filter((name) => name.startsWith("mysql.new-"))).toEqual([]);
  });
});
