import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { tryLock, tryLockExisting } from "../../../src/private-database/lock/os-lock.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stoa-lock-"));
  path = join(folder, "lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a lock has one holder, and is free again after its release", () => {
  const lock = tryLock(path);
  expect(lock).toBeDefined();
  expect(tryLock(path)).toBeUndefined();
  lock?.release();
  lock?.release();
  const next = tryLock(path);
  expect(next).toBeDefined();
  next?.release();
});

test("a lock lasts until every process that inherited it has ended", async () => {
  const lock = tryLock(path);
  const child = spawn("cat", [], { stdio: ["pipe", "ignore", "ignore", lock?.fd] });
  await once(child, "spawn");
  lock?.release();
  expect(tryLock(path)).toBeUndefined();
  child.kill("SIGKILL");
  await once(child, "exit");
  const next = tryLock(path);
  expect(next).toBeDefined();
  next?.release();
});

test("a lock on a replaced file does not block a lock on the new file", () => {
  const lock = tryLock(path);
  rmSync(path);
  const next = tryLock(path);
  expect(next).toBeDefined();
  expect(tryLock(path)).toBeUndefined();
  lock?.release();
  next?.release();
});

test("a missing file or a symbolic link cannot be locked", () => {
  expect(tryLockExisting(path)).toBeUndefined();
  writeFileSync(join(folder, "target"), "");
  symlinkSync(join(folder, "target"), path);
  expect(() => tryLock(path)).toThrow("ELOOP");
});
