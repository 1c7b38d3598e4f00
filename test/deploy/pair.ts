import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { urlOf } from "../support/process.ts";
import { Replica } from "../support/replica.ts";
import { waitUntil } from "../support/wait.ts";
import { type Asked, type AskOptions, ask } from "./client.ts";
import type { ProxyName } from "./examples.ts";
import { type RunningProxy, startProxy } from "./proxy.ts";

/** How long a replica serves on after SIGTERM, in seconds: as long as the examples say. */
const stopDelaySeconds = "3";

/** How many addresses the requests of a test come from. */
const clients = 200;

/** Two replicas on one database, each a process of its own, behind a proxy. */
export class Pair {
  readonly db: TestDatabase;
  /** The proxy. */
  readonly site: RunningProxy;
  readonly #name: ProxyName;
  readonly #replicas: readonly Replica[];
  #sent = 0;

  private constructor(name: ProxyName, db: TestDatabase, replicas: readonly Replica[], proxy: RunningProxy) {
    this.#name = name;
    this.db = db;
    this.#replicas = replicas;
    this.site = proxy;
  }

  /** Ends after the last test of the file. @param settings of both replicas, besides the address and the database */
  static async start(name: ProxyName, settings: Record<string, string> = {}): Promise<Pair> {
    const db = await createDatabaseWithSchema();
    const begin = async () => {
      const replica = await Replica.begin({
        STOA_METRICS_PORT: "none",
        STOA_SITE_URL: "https://board.example",
        STOA_TRUST_PROXY: "127.0.0.1",
        STOA_STOP_DELAY_SECONDS: stopDelaySeconds,
        STOA_DATABASE_URL: urlOf(db.config),
        ...settings,
      });
      afterFile(() => replica.end("SIGTERM"));
      return replica;
    };
    const replicas = [await begin(), await begin()];
    for (const replica of replicas) await replica.process.url();
    const hosts = replicas.map(({ url }) => new URL(url).host);
    return new Pair(name, db, replicas, await startProxy(name, hosts));
  }

  /** The root address of each replica, without the proxy. */
  get urls(): string[] {
    return this.#replicas.map(({ url }) => url);
  }

  /** Sends a request through the proxy. They come from many addresses in turn, as each may make few connections. */
  ask(path: string, options?: AskOptions): Promise<Asked> {
    const localAddress = `127.0.3.${(this.#sent++ % clients) + 1}`;
    return ask(this.site, path, { localAddress, ...options });
  }

  /** How many calls of an operation each replica has answered since it was started. */
  served(operation: string): number[] {
    return this.#replicas.map(({ process }) => process.output.split(`"operation":"${operation}"`).length - 1);
  }

  /** Kills a replica as it is (SIGKILL). */
  async kill(index: number): Promise<void> {
    await this.#replica(index).end("SIGKILL");
  }

  /** Starts a replica that has ended, and waits until it gets requests from the proxy again. */
  async startAgain(index: number): Promise<void> {
    const replica = this.#replica(index);
    await replica.startAgain();
    // nginx goes back to the example.
    if (this.#name === "nginx") await this.site.reload((config) => config);
    await waitUntil("requests for the replica", async () => {
      await this.ask("/api/v1/communities");
      return (this.served("ListCommunities")[index] as number) > 0;
    });
  }

  /** Restarts a replica as docs/deploying.md says. */
  async restart(index: number): Promise<void> {
    const replica = this.#replica(index);
    // Stock nginx does not ask /readyz: an operator marks the replica as down, and reloads.
    const server = `server ${new URL(replica.url).host}`;
    if (this.#name === "nginx") await this.site.reload((config) => config.replaceAll(server, `${server} down`));
    await replica.end("SIGTERM");
    await this.startAgain(index);
  }

  #replica(index: number): Replica {
    return this.#replicas[index] as Replica;
  }
}
