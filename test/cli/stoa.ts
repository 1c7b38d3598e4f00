// The command as its users run it. Most tests run it in their own process, on streams in memory.
import { spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { runCommand } from "../../src/cli/run.ts";
import { afterFile } from "../support/after-file.ts";
import { afterTest } from "../support/after-test.ts";
import { nodeEnvironment } from "../support/node-environment.ts";

export const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export interface Run {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  /** What it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  signal(name: "SIGINT" | "SIGTERM"): void;
  /** Closes the pipe of its standard output, as a reader does that has seen enough. */
  stopReading(): void;
  /** Its end. */
  done: Promise<Run>;
}

/**
 * Starts `stoa` in this process; `home` is where its default state files go.
 * @param answer what somebody at a terminal types when asked; by default there is no terminal
 */
export function startStoa(...how: Parameters<typeof begin>): Running {
  return endAfterTest(begin(...how));
}

/** Like `startStoa`, until it has ended by itself. Also for tests that run concurrently. */
export function runStoa(...how: Parameters<typeof begin>): Promise<Run> {
  const running = begin(...how);
  afterFile(() => running.signal("SIGTERM"));
  return running.done;
}

function begin(args: string[], home: string, environment: Record<string, string> = {}, answer?: string): Running {
  const run: Run = { status: null, stdout: "", stderr: "" };
  const terminal = answer === undefined ? {} : { isTTY: true };
  const stdin = Object.assign(new PassThrough(), terminal);
  const into = (name: "stdout" | "stderr") =>
    new Writable({
      decodeStrings: false,
      write(text: string, _, written) {
        run[name] += text;
        if (answer !== undefined && text.includes("[y/N]")) stdin.end(answer);
        written();
      },
    });
  const stdout = into("stdout");
  const env = { XDG_STATE_HOME: join(home, ".local/state"), ...environment };
  const caller = Object.assign(new EventEmitter(), {
    env,
    stdin,
    stdout,
    stderr: Object.assign(into("stderr"), terminal),
  });
  const signal = (name: "SIGINT" | "SIGTERM") => void caller.emit(name);
  return watch(run, signal, () => stdout.destroy(new Error("EPIPE")), runCommand(args, caller));
}

/** Starts `stoa` as a process of its own. */
export function startProcess(args: string[], home: string): Running {
  const run: Run = { status: null, stdout: "", stderr: "" };
  const env = { ...nodeEnvironment, HOME: home };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      run[name] += text;
    });
  }
  const ended = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  return endAfterTest(
    watch(
      run,
      (name) => void child.kill(name),
      () => child.stdout.destroy(),
      ended,
    ),
  );
}

function watch(
  run: Run,
  signal: Running["signal"],
  stopReading: Running["stopReading"],
  ended: Promise<number | null>,
): Running {
  const done = ended.then((status) => ({ ...run, status }));
  return {
    done,
    signal,
    stopReading,
    get stdout() {
      return run.stdout;
    },
    get stderr() {
      return run.stderr;
    },
  };
}

function endAfterTest(running: Running): Running {
  afterTest(() => running.signal("SIGTERM"));
  return running;
}

/** All files of a folder by their paths. */
export function filesOf(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return new Map(
    names.map(({ parentPath, name }) => [
      join(parentPath, name).slice(folder.length + 1),
      readFileSync(join(parentPath, name)),
    ]),
  );
}
