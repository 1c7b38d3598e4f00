import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { askRest } from "../support/service.ts";
import { startEnvironment, startFlags } from "../support/start-script.ts";
import { statusMiB } from "../support/status.ts";
import { waitUntil } from "../support/wait.ts";

/** What every attack must leave true: see `Victim.during`. */
const maxResidentMiB = 420;
const maxNeighbourMs = 1_000;

/** What an attack did to the event loop of the service, in milliseconds. */
export interface Blocks {
  /** The longest block of the event loop, as clients notice it. */
  longestMs: number;
  /**
   * The processor time of the most expensive turn of the event loop. On a busy machine, a block can be much longer,
   * because the service waits for a core.
   */
  longestCpuMs: number;
}

/** A service under attack: a process of its own, as `npm start` runs it, with default settings. */
export interface Victim {
  /** The root address, http://127.0.0.1:port. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly db: TestDatabase;
  /** An agent with a good key. */
  readonly key: string;
  /** The service's resident memory now, in MiB; with several processes that of the largest. */
  residentMiB(): number;
  /** The longest blocks of the service's event loop since this was last asked. */
  longestBlocks(): Promise<Blocks>;
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number | null>;
  /**
   * Runs an attack while a well-behaved client goes on reading and writing. Afterwards the same process must be running,
   * its resident memory must have stayed under 420 MiB, the client must have been answered well and in time, and the log
   * must tell of no fault.
   */
  during<T>(attack: () => Promise<T>): Promise<T>;
}

/**
 * @param environment settings besides the address, the database and the log level
 * @param given a database that is not empty
 */
export async function startVictim(environment: Record<string, string> = {}, given?: TestDatabase): Promise<Victim> {
  const db = given ?? (await createTestDatabase());
  const child = fork(fileURLToPath(new URL("../../src/main.ts", import.meta.url)), {
    execArgv: [...startFlags, `--import=${new URL("victim-watch.ts", import.meta.url)}`],
    env: {
      PATH: process.env.PATH ?? "",
      ...startEnvironment,
      STOA_PORT: "0",
      STOA_METRICS_PORT: "none",
      STOA_DATA_DIR: scratchFolder(),
      STOA_DATABASE_URL: urlOf(db.config),
      STOA_LOG_LEVEL: "warn",
      // For the neighbour, who goes on writing however long an attack takes.
      STOA_LIMIT_COMMENTS: "100000/1m",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  const stop = async () => {
    if (!hasExited()) child.kill("SIGTERM");
    return exited;
  };
  afterFile(stop);
  await waitUntil("the service to come up", () => {
    if (hasExited()) throw new Error(output);
    return output.includes("Stoa answers at ");
  });
  const url = /Stoa answers at (\S+)/.exec(output)?.[1] as string;
  const { body } = await askRest(url, "agents/register", { body: { name: "Neighbour" } });
  const key: string = body.api_key;
  await askRest(url, "posts", { key, body: { title: "What the neighbour talks about" } });

  const pid = child.pid as number;
  const victim: Victim = {
    url,
    port: Number(new URL(url).port),
    pid,
    db,
    key,
    residentMiB: () => statusMiB(pid, "VmRSS"),
    async longestBlocks() {
      const answer = once<Blocks>(child);
      child.send("longest");
      return answer;
    },
    stop,
    async during(attack) {
      const neighbour = await startNeighbour(url, key);
      await victim.longestBlocks();
      const result = await attack();
      const replies = await neighbour.stop();
      expect(hasExited(), output).toBe(false);
      await report(victim, replies);
      expect(faultsIn(output)).toEqual([]);
      expect(statusMiB(pid, "VmHWM")).toBeLessThan(maxResidentMiB);
      expect(replies.length).toBeGreaterThan(0);
      expect(replies.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
      expect(replies.filter(({ ms }) => ms > maxNeighbourMs)).toEqual([]);
      return result;
    },
  };
  return victim;
}

/** The lines of a log that tell of a fault that nobody expected. */
export function faultsIn(output: string): string[] {
  return output
    .split("\n")
    .filter((line) => /unhandled|uncaught|^\s+at /i.test(line) || /^\{"level":"(error|fatal)"/.test(line));
}

/** Prints what an attack did to the service and its neighbour. */
async function report({ pid, longestBlocks }: Victim, replies: NeighbourReply[]): Promise<void> {
  const slowest = Math.max(...replies.map(({ ms }) => ms));
  const { longestMs, longestCpuMs } = await longestBlocks();
  const figures = [
    `${statusMiB(pid, "VmHWM").toFixed(0)} MiB at most`,
    `loop blocked for ${longestMs.toFixed(0)} ms (${longestCpuMs.toFixed(0)} ms of processor time)`,
    `neighbour waited ${slowest.toFixed(0)} ms`,
  ];
  process.stdout.write(`${expect.getState().currentTestName}: ${figures.join(", ")}\n`);
}

interface NeighbourReply {
  request: string;
  /** The message of the error where there was no reply. */
  status: number | string;
  ms: number;
}

/** Starts the well-behaved client; it has its first reply when this resolves. */
async function startNeighbour(url: string, key: string): Promise<{ stop(): Promise<NeighbourReply[]> }> {
  const child = fork(fileURLToPath(new URL("neighbour.ts", import.meta.url)), [url, key], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  const replies: NeighbourReply[] = [];
  child.on("message", (reply) => replies.push(reply as NeighbourReply));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  await once(child);
  return {
    async stop() {
      // One more reply at least: an attack that is over at once is judged by what it leaves behind.
      await once(child);
      child.disconnect();
      await exited;
      return replies;
    },
  };
}

function once<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error("the process has ended"));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      resolve(message as Message);
    });
  });
}
