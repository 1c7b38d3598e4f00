// Go's golang.org/x/mod/sumdb as the reference: code that is not ours.
import { execFile, spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { goEnvironment } from "../../scripts/lib/go.mjs";

const folder = fileURLToPath(new URL("reference/", import.meta.url));
const cache = fileURLToPath(new URL("../../node_modules/.cache/stoa-tlog-reference/", import.meta.url));

/** One question, or several, to the program in reference/. @throws Error with what it says when it fails */
export async function ask<Answer>(question: string, input: unknown): Promise<Answer> {
  program ??= build();
  const child = spawn(await program, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify([{ ask: question, with: input }]));
  const [answers, [status]] = await Promise.all([text(child.stdout), once(child, "close")]);
  if (status !== 0) throw new Error(`the reference has no answer to ${question}`);
  return JSON.parse(answers)[0] as Answer;
}

let program: Promise<string> | undefined;

/** Compiles the program once for all test files, and again when its source has changed. @returns its path */
async function build(): Promise<string> {
  const sources = globSync("*.go", { cwd: folder }).sort();
  const version = hash("sha256", sources.map((name) => readFileSync(join(folder, name), "utf8")).join("\0"));
  const path = join(cache, version);
  if (existsSync(path)) return path;
  mkdirSync(cache, { recursive: true });
  const own = mkdtempSync(join(cache, "build-"));
  try {
    const env = { ...goEnvironment(), GOCACHE: join(own, "cache") };
    await promisify(execFile)("go", ["build", "-o", join(own, "reference"), ...sources], { cwd: folder, env });
    // Other test files may do the same at the same time.
    renameSync(join(own, "reference"), path);
  } finally {
    rmSync(own, { recursive: true });
  }
  return path;
}
