// The lock of a data folder, without a database server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { takeLock } from "../../../src/private-database/lock/data-folder-lock.ts";
import { tryLock } from "../../../src/private-database/lock/os-lock.ts";
import { identify } from "../../../src/private-database/lock/process-identity.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stoa-lock-"));
  path = join(folder, "lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A process that runs until the end of the test, or until it is ended. */
async function startProcess(inherited?: number) {
  const child = spawn("cat", [], { stdio: ["pipe", "ignore", "ignore", inherited ?? "ignore"] });
  await once(child, "spawn");
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** A lock that another process holds. The file does not name it. */
async function lockElsewhere() {
  const lock = tryLock(path);
  const child = await startProcess(lock?.fd);
  lock?.release();
  return child;
}

/** Without timers, nothing can wait. */
function forbidWaiting(): void {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("one of several simultaneous locks wins", async () => {
  const outcomes = await Promise.allSettled([takeLock(folder), takeLock(folder), takeLock(folder)]);
  const taken = outcomes.filter((outcome) => outcome.status === "fulfilled");
  for (const { value } of taken) value();
  expect(taken).toHaveLength(1);
});

describe("a folder in use", () => {
  test("is refused at once, with the process that the file names", async () => {
    const unlock = await takeLock(folder);
    onTestFinished(unlock);
    forbidWaiting();
    await expect(takeLock(folder)).rejects.toThrow(`is in use by process ${process.pid}; stop it first`);
  });

  test("is refused if the process cannot be seen from here", async () => {
    await lockElsewhere();
    await expect(takeLock(folder)).rejects.toThrow("is in use by a process that cannot be seen from here");
  });

  test("is refused if an older version, which takes no such lock, uses it", async () => {
    const { pid = 0 } = await startProcess();
    const content = JSON.stringify(identify(pid));
    writeFileSync(path, content);
    forbidWaiting();
    await expect(takeLock(folder)).rejects.toThrow(`is in use by process ${pid}; stop it first`);
    expect(readFileSync(path, "utf8")).toBe(content);
    // The refused start holds nothing.
    const lock = tryLock(path);
    expect(lock).toBeDefined();
    lock?.release();
  });
});

describe("a folder that was in use", () => {
  test("is free as soon as its last process has ended, which may take a moment", async () => {
    const child = await lockElsewhere();
    const taken = takeLock(folder);
    child.kill("SIGKILL");
    (await taken)();
  });

  test.each([
    ["an older version", {}],
    ["this version", { locking: true }],
  ])("by %s is free when that process has ended, whatever the file says", async (_, mark) => {
    const child = await startProcess();
    writeFileSync(path, JSON.stringify({ ...identify(child.pid ?? 0), ...mark }));
    child.kill("SIGKILL");
    await once(child, "exit");
    forbidWaiting();
    (await takeLock(folder))();
  });

  test("is free if the file names an earlier process with the id of a living one", async () => {
    writeFileSync(path, JSON.stringify({ pid: process.pid, started: "then" }));
    forbidWaiting();
    (await takeLock(folder))();
  });

  test("is free when this process unlocks it, and the file names nobody", async () => {
    const unlock = await takeLock(folder);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ ...identify(process.pid), locking: true });
    unlock();
    expect(readFileSync(path, "utf8")).toBe("");
    (await takeLock(folder))();
  });
});

test("a lock file with a second link is locked, but not written to", async () => {
  const other = join(folder, "a file of somebody else");
  writeFileSync(other, "its content");
  linkSync(other, path);
  const unlock = await takeLock(folder);
  await expect(takeLock(folder)).rejects.toThrow("is in use by");
  unlock();
  expect(readFileSync(other, "utf8")).toBe("its content");
});
