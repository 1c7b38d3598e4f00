import { Replica } from "../support/replica.ts";

/** How long a replica may take to start, in milliseconds. On a busy cluster its migrations take long. */
const startMs = 240_000;

/** Two or more replicas of the service on one database, which can be killed and restarted. */
export class Cluster {
  readonly #replicas: Replica[] = [];
  /** The output of processes that have ended. */
  #output = "";
  /** How often a replica was restarted. */
  restarts = 0;

  /** @param environments the environment variables of each replica */
  static async start(environments: readonly Record<string, string>[]): Promise<Cluster> {
    const cluster = new Cluster();
    try {
      for (const environment of environments) {
        const replica = await Replica.begin(environment);
        cluster.#replicas.push(replica);
        await replica.process.url(startMs);
      }
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** The addresses of the replicas, which they keep when they are restarted. */
  readonly urls = (): string[] => this.#replicas.map(({ url }) => url);

  /** Ends a replica by a signal, and restarts it. */
  readonly restart = async (index: number, signal: "SIGKILL" | "SIGINT"): Promise<void> => {
    const replica = this.#replicas[index] as Replica;
    this.restarts += 1;
    await this.#end(replica, signal);
    await replica.startAgain(startMs);
  };

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
    for (const replica of this.#replicas.splice(0)) await this.#end(replica, "SIGINT");
  }

  async #end(replica: Replica, signal: "SIGKILL" | "SIGINT"): Promise<void> {
    await replica.end(signal);
    this.#output += `${replica.process.output}\n`;
  }
}
