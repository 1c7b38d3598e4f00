import { ServiceProcess } from "../support/process.ts";

/** How long a replica may take to start, in milliseconds. On a busy cluster its migrations take long. */
const startMs = 240_000;

/** Two or more replicas of the service on one database, which can be killed and restarted. */
export class Cluster {
  readonly #environments: readonly Record<string, string>[];
  readonly #replicas: { process: ServiceProcess; url: string }[] = [];
  /** The output of replicas that have ended. */
  #output = "";
  #restarts = 0;

  private constructor(environments: readonly Record<string, string>[]) {
    this.#environments = environments;
  }

  /** @param environments the environment variables of each replica */
  static async start(environments: readonly Record<string, string>[]): Promise<Cluster> {
    const cluster = new Cluster(environments);
    try {
      for (const index of environments.keys()) await cluster.#start(index);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** The addresses of the replicas. A replica that restarts keeps its old address until it is up. */
  readonly urls = (): string[] => this.#replicas.map(({ url }) => url);

  /** Ends a replica by a signal, and restarts it. */
  async restart(index: number, signal: "SIGKILL" | "SIGINT"): Promise<void> {
    this.#restarts += 1;
    await this.#end(index, signal);
    await this.#start(index);
  }

  /** How often a replica was restarted. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * The errors in the output of ended replicas: log lines of level error or higher, and lines that are not log lines, such
   * as a stack trace.
   * @param mayBeAway whether work in the background may have found no database
   */
  errors({ mayBeAway }: { mayBeAway: boolean }): string[] {
    return this.#output.split("\n").filter((line) => {
      if (!line.startsWith("{"))
        return line !== "" && !/^(Stoa answers at|Metrics are off|Stopping: running calls)/.test(line);
      // The last line of a replica that was killed may be cut off.
      if (!line.endsWith("}")) return false;
      const { level, err } = JSON.parse(line);
      return ["error", "fatal"].includes(level) && !(mayBeAway && err?.code === "unavailable");
    });
  }

  async stop(): Promise<void> {
    for (const index of this.#replicas.keys()) await this.#end(index, "SIGINT");
    this.#replicas.length = 0;
  }

  async #start(index: number): Promise<void> {
    // A replica uses its old port again, as behind a load balancer.
    const port = index in this.#replicas ? new URL(this.#replicas[index]?.url as string).port : "0";
    const process = new ServiceProcess({ ...this.#environments[index], STOA_PORT: port });
    this.#replicas[index] = { process, url: this.#replicas[index]?.url ?? "http://127.0.0.1:9" };
    this.#replicas[index] = { process, url: await process.url(startMs) };
  }

  async #end(index: number, signal: "SIGKILL" | "SIGINT"): Promise<void> {
    const { process } = this.#replicas[index] as { process: ServiceProcess };
    await process.end(signal);
    this.#output += `${process.output}\n`;
  }
}
