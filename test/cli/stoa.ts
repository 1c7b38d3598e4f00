// The command as its users run it: a process of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { nodeEnvironment } from "../support/node-environment.ts";

export const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export interface Run {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  /** What it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Its end. */
  done: Promise<Run>;
}

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
});

/** A folder of the test file's own, for state. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stoa-cli-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts `stoa`; `home` is where its default state files go. */
export function startStoa(args: string[], home: string, environment: Record<string, string> = {}): Running {
  const env = { ...nodeEnvironment, HOME: home, ...environment };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const run: Run = { status: null, stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      run[name] += text;
    });
  }
  const done = new Promise<Run>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => {
      running.delete(child);
      resolve({ ...run, status });
    });
  });
  return {
    child,
    done,
    get stdout() {
      return run.stdout;
    },
    get stderr() {
      return run.stderr;
    },
  };
}

export function runStoa(args: string[], home: string, environment: Record<string, string> = {}): Promise<Run> {
  return startStoa(args, home, environment).done;
}
