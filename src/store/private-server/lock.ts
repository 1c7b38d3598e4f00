// One service at a time per data folder. The lock names its holder, so that a lock whose holder has died is worth nothing;
// InnoDB's own lock on its files is the last arbiter.
import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identify, isRunning, type ProcessIdentity, parseIdentity } from "./process-identity.ts";

/** Another process has the data folder. */
export class DataFolderInUse extends Error {
  override readonly name = "DataFolderInUse";
}

/**
 * Takes the data folder for this process.
 * @returns a function that gives it back
 * @throws DataFolderInUse that names the process which has it
 */
export function takeLock(dataDir: string): () => void {
  const path = join(dataDir, "lock");
  const content = JSON.stringify(identify(process.pid));
  // Written aside and linked: the lock appears at once and whole, or not at all.
  const aside = `${path}.${randomUUID()}`;
  writeFileSync(aside, content, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 20; attempt++) {
      if (linked(aside, path)) return () => release(path, content);
      const found = read(path);
      if (found === undefined) continue;
      const holder = holderOf(found);
      if (holder !== undefined && isRunning(holder)) throw inUse(dataDir, String(holder.pid));
      removeStale(path, found);
    }
    throw inUse(dataDir, "of another start");
  } finally {
    rmSync(aside, { force: true });
  }
}

function inUse(dataDir: string, who: string): Error {
  return new DataFolderInUse(
    `the data folder ${dataDir} is in use by process ${who}; stop it first or set STOA_DATA_DIR`,
  );
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Two starts may find the same stale lock: the slower must not remove what the faster has put in its place. */
function removeStale(path: string, stale: string): void {
  const moved = `${path}.${randomUUID()}`;
  try {
    renameSync(path, moved);
  } catch {
    return;
  }
  if (read(moved) !== stale) linked(moved, path);
  rmSync(moved, { force: true });
}

function release(path: string, content: string): void {
  if (read(path) === content) rmSync(path, { force: true });
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function holderOf(content: string): ProcessIdentity | undefined {
  try {
    return parseIdentity(JSON.parse(content));
  } catch {
    return undefined;
  }
}
