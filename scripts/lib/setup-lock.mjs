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

async function take(path) {
  for (let reported = false; ; ) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      // ENOENT: another set-up has just finished and removed the empty folder.
      if (error.code !== "EEXIST" && error.code !== "ENOENT") throw error;
    }
    if (ageMs(path) > staleMs) rmSync(path, { force: true });
    else if (!reported) {
      say("waiting for another set-up of this folder");
      reported = true;
    }
    await sleep(100);
  }
}

function ageMs(path) {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
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
