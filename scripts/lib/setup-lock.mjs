// Allows one set-up at a time in a folder, because two runs of `npm ci` would delete each other's files.
import { mkdirSync, rmdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { say } from "./run.mjs";

const beatMs = 1_000;
/** A holder that has not touched its lock for this long was killed, and its npm has ended too. */
const staleMs = 10_000;

/** Runs `work` while no other set-up of this folder runs. The lock is in .stoa, which git ignores and `npm ci` keeps. */
export async function withSetupLock(root, work) {
  const path = join(root, ".stoa", "setup.lock");
  await take(path);
  const beat = setInterval(() => touch(path), beatMs);
  try {
    await work();
  } finally {
    clearInterval(beat);
    remove(path);
  }
}

/** A lock is stale by its time, or if it has not changed for long: a wrong clock may have set a time in the future. */
async function take(path) {
  let seen;
  for (let reported = false; ; ) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      // ENOENT: another set-up has just finished and removed the empty folder.
      if (error.code !== "EEXIST" && error.code !== "ENOENT") throw error;
    }
    const mtimeMs = mtimeOf(path);
    if (mtimeMs !== seen?.mtimeMs) seen = { mtimeMs, since: performance.now() };
    if (Date.now() - mtimeMs > staleMs || performance.now() - seen.since > staleMs) rmSync(path, { force: true });
    else if (!reported) {
      say("waiting for another set-up of this folder, which holds .stoa/setup.lock");
      reported = true;
    }
    await sleep(100);
  }
}

/** When the holder touched its lock last; NaN if it has just gone. */
function mtimeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN;
}

function touch(path) {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch {}
}

function remove(path) {
  rmSync(path, { force: true });
  try {
    rmdirSync(dirname(path));
  } catch {}
}
