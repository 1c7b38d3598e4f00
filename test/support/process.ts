import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { nodeEnvironment } from "./node-environment.ts";
import { nextMessage } from "./script.ts";
import { waitUntil } from "./wait.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** Settings for a load whose clients all have one address. The log tells of faults alone. */
export const underLoad = {
  STOA_METRICS_PORT: "none",
  STOA_LOG_LEVEL: "warn",
  STOA_RATE_LIMITS: "off",
  STOA_SITE_URL: "http://stoa.example",
};

/** Stops a service whose test process has ended for any reason. After a while it kills the service. */
const endWithParent = `data:text/javascript,${encodeURIComponent(`
  process.once("disconnect", () => {
    process.kill(process.pid, "SIGTERM");
    setTimeout(() => process.exit(1), 20_000).unref();
  });
  process.channel.unref();`)}`;

interface ProcessOptions {
  maxFiles?: number;
  program?: string;
  flags?: readonly string[];
  within?: readonly string[];
}

/** How long a start may take on a slow machine, in milliseconds: the first one makes a database. */
const startMs = 110_000;

/** The service as a child process that tests can kill. It ends with this process at the latest. */
export class ServiceProcess {
  readonly #child: ChildProcess;
  /** The exit code; null if a signal ended it. By then its last words are in the output. */
  readonly exited: Promise<number | null>;
  #output = "";

  /**
   * @param environment all its environment variables besides PATH. Without a port, it takes a free one, and has no
   *   metrics: other services have their port
   * @param maxFiles how many files it may open
   * @param program its main module, which another version has elsewhere
   * @param flags those of Node
   * @param within a command that runs it, such as `nsenter`
   */
  constructor(
    environment: Record<string, string | undefined>,
    { maxFiles, program = main, flags = [], within = [] }: ProcessOptions = {},
  ) {
    const dataDir = mkdtempSync(join(tmpdir(), "stoa-test-data-"));
    const own = { STOA_PORT: "0", STOA_METRICS_PORT: "none", STOA_DATA_DIR: dataDir };
    const env = { ...nodeEnvironment, ...own, ...environment };
    const args = ["--disable-warning=ExperimentalWarning", ...flags, `--import=${endWithParent}`, program];
    const limit = maxFiles === undefined ? "" : `ulimit -n ${maxFiles} && `;
    const command = ["-c", `${limit}exec "$@"`, "sh", ...within, process.execPath, ...args];
    this.#child = spawn("/bin/sh", command, { env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text) => {
        this.#output += text;
      });
    }
    // What was left unread must be read, too, before its pipes close.
    this.#child.once("exit", () => {
      for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.resume();
    });
    this.exited = new Promise<number | null>((resolve) => this.#child.once("close", resolve)).finally(() =>
      rmSync(dataDir, { recursive: true, force: true }),
    );
  }

  /** The address that it prints when it is up. */
  async url(deadlineMs = startMs): Promise<string> {
    const isUp = () => {
      if (this.hasExited) throw new Error(this.#output);
      return this.#output.includes("Stoa answers at ");
    };
    await waitUntil("the service to come up", isUp, deadlineMs);
    return /Stoa answers at (\S+)/.exec(this.#output)?.[1] as string;
  }

  /** Everything that it has written so far, with its log. */
  get output(): string {
    return this.#output;
  }

  /** Stops reading its output. With `close`, its writes fail. */
  leaveUnread({ close }: { close: boolean }): void {
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (close) stream?.destroy();
      else stream?.pause();
    }
  }

  /** The process, while it runs. */
  get pid(): number {
    return this.#child.pid as number;
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Asks what a module that is loaded before the service answers. */
  ask<Answer>(what: string): Promise<Answer> {
    const answer = nextMessage<Answer>(this.#child);
    this.#child.send(what);
    return answer;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async end(signal: "SIGKILL" | "SIGINT" | "SIGTERM"): Promise<void> {
    this.#child.kill(signal);
    await this.exited;
  }
}

/** Resolves once a process has written `text`. */
export async function untilSays(service: ServiceProcess, text: string): Promise<void> {
  await waitUntil(`${text} in the output`, () => service.output.includes(text));
}

/** The lines of an output that tell of a fault that nobody expected. Earlier versions log levels as numbers. */
export function faultsIn(output: string): string[] {
  const isFault = (line: string) =>
    /unhandled|uncaught|^\s+at /i.test(line) || /^\{"level":(?:[56]0|"error"|"fatal")/.test(line);
  return output.split("\n").filter(isFault);
}

/** STOA_DATABASE_URL for a database. */
export function urlOf({ user, password = "", host, port, socketPath, database }: DatabaseConfig): string {
  const account = `${encodeURIComponent(user)}${password === "" ? "" : `:${encodeURIComponent(password)}`}`;
  if (socketPath !== undefined)
    return `mysql://${account}@localhost/${database}?socket=${encodeURIComponent(socketPath)}`;
  return `mysql://${account}@${host}:${port}/${database}`;
}
