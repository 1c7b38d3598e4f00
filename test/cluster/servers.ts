import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { waitUntil } from "../support/wait.ts";

export type NodeNumber = 1 | 2 | 3;
export const nodes: readonly NodeNumber[] = [1, 2, 3];
/** How long a node may take to join the cluster, in milliseconds: on a busy machine it copies everything slowly. */
export const joinMs = 240_000;

/** Where a server is, for the account root without a password. */
export interface Address {
  host: string;
  port: number;
}

/** Three database servers on this machine that form a cluster. Everything ends by `stop`. */
export interface Servers {
  readonly name: string;
  readonly addresses: Record<NodeNumber, Address>;
  /** Whether node `n` belongs to the cluster and serves. */
  isMember(n: NodeNumber): Promise<boolean>;
  kill(n: NodeNumber): Promise<void>;
  freeze(n: NodeNumber): void;
  thaw(n: NodeNumber): void;
  /** Starts a killed node, or lets it join again. Resolves when it has caught up. */
  rejoin(n: NodeNumber): Promise<void>;
  /** Cuts a node off from the others, while clients still reach it; undefined where this cannot be done. */
  partition?: (n: NodeNumber) => Promise<void>;
  heal?: (n: NodeNumber) => Promise<void>;
  /** Makes node `n` the one that takes writes; undefined where all do. */
  switchTo?: (n: NodeNumber) => Promise<void>;
  stop(): Promise<void>;
}

/** A program and its arguments. */
export type Command = [string, ...string[]];

/** A database server as a child process of its own group. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  /** @param moreCommands a folder with programs that the server runs */
  constructor([command, ...args]: Command, logFile: string, moreCommands?: string) {
    const log = openSync(logFile, "a");
    const env = {
      ...process.env,
      PATH: [moreCommands, process.env.PATH].filter((each) => each !== undefined).join(":"),
    };
    this.#child = spawn(command, args, { stdio: ["ignore", log, log], detached: true, env });
    closeSync(log);
    this.#exited = new Promise((resolve) => {
      this.#child.once("exit", resolve);
      this.#child.once("error", resolve);
    });
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends it, whatever it does: a frozen one too. */
  async end(name: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (!this.isRunning) return;
    this.#child.kill("SIGCONT");
    this.#child.kill(name);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 20_000);
    await this.#exited;
    clearTimeout(timer);
    this.endHelpers();
  }

  /** Ends what it has started, such as the script of a state transfer. That would wait for minutes, and hold up the next one. */
  endHelpers(): void {
    try {
      process.kill(-(this.#child.pid as number), "SIGKILL");
    } catch {
      // There is nothing.
    }
  }
}

/** The processes of a cluster by their numbers, and what is done to them. */
export class Processes {
  readonly #running = new Map<NodeNumber, ServerProcess>();

  /** How many there are, running or not. */
  get size(): number {
    return this.#running.size;
  }

  set(n: NodeNumber, server: ServerProcess): void {
    this.#running.get(n)?.endHelpers();
    this.#running.set(n, server);
  }

  isRunning(n: NodeNumber): boolean {
    return this.#running.get(n)?.isRunning ?? false;
  }

  /** Runs the steps that make the cluster. If one fails, nothing is left running. */
  async begin(steps: () => Promise<void>): Promise<void> {
    await steps().catch(async (error) => {
      await this.faults.stop();
      throw error;
    });
  }

  /** The parts of `Servers` that every engine has. */
  readonly faults: Pick<Servers, "kill" | "freeze" | "thaw" | "stop"> = {
    kill: async (n) => this.#running.get(n)?.end("SIGKILL"),
    freeze: (n) => this.#running.get(n)?.signal("SIGSTOP"),
    thaw: (n) => this.#running.get(n)?.signal("SIGCONT"),
    stop: async () => void (await Promise.all(nodes.map((n) => this.faults.kill(n)))),
  };
}

/** Runs statements on one server, and returns the rows of the last. @throws the driver's error, also after a minute of silence */
export async function query<Row>({ host, port }: Address, ...statements: string[]): Promise<Row[]> {
  const connection = await createConnection({ host, port, user: "root", connectTimeout: 2_000 });
  const timer = setTimeout(() => connection.destroy(), 60_000);
  try {
    let rows: unknown = [];
    for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement);
    return rows as Row[];
  } finally {
    clearTimeout(timer);
    connection.destroy();
  }
}

/** Waits until a server takes statements. */
export async function untilAnswers(address: Address): Promise<void> {
  const answers = () =>
    query(address, "SET @answers = 1").then(
      () => true,
      () => false,
    );
  await waitUntil(`the server at port ${address.port}`, answers, joinMs);
}

/** Runs a program to its end. @throws Error with its output if it fails or is missing */
export async function run([command, ...args]: Command): Promise<string> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => {
      output += text;
    });
  }
  const code = await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
  if (code !== 0) throw new Error(`${command} has failed (${code}):\n${output}`);
  return output;
}
