import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
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
  readonly #settings: Record<string, string>;
  readonly #name: ProxyName;
  readonly #ports: readonly string[];
  readonly #replicas: ServiceProcess[];
  #proxy!: RunningProxy;
  #sent = 0;

  private constructor(name: ProxyName, db: TestDatabase, ports: readonly string[], settings: Record<string, string>) {
    this.db = db;
    this.#name = name;
    this.#ports = ports;
    this.#settings = settings;
    this.#replicas = ports.map((port) => this.#start(port));
    afterFile(() => Promise.all(this.#replicas.map((each) => each.end("SIGTERM"))));
  }

  /** Ends after the last test of the file. @param settings of both replicas, besides the address and the database */
  static async start(name: ProxyName, settings: Record<string, string> = {}): Promise<Pair> {
    const pair = new Pair(name, await createDatabaseWithSchema(), [await port(), await port()], settings);
    for (const replica of pair.#replicas) await replica.url();
    const addresses = pair.#ports.map((each) => `127.0.0.1:${each}`);
    pair.#proxy = await startProxy(name, addresses);
    await waitUntil(`${name} to answer`, async () => (await pair.ask("/readyz")).status === 200);
    return pair;
  }

  get site(): { port: number; ca: string } {
    return this.#proxy;
  }

  /** The root address of each replica, without the proxy. */
  get urls(): string[] {
    return this.#ports.map((each) => `http://127.0.0.1:${each}`);
  }

  /** What the proxy has written so far. */
  get proxyLog(): string {
    return this.#proxy.output();
  }

  /** Sends a request through the proxy. They come from many addresses in turn, as each may make few connections. */
  ask(path: string, options?: AskOptions): Promise<Asked> {
    const localAddress = `127.0.3.${(this.#sent++ % clients) + 1}`;
    return ask(this.#proxy, path, { localAddress, ...options });
  }

  /** How many calls of an operation each replica has answered since it was started. */
  served(operation: string): number[] {
    return this.#replicas.map(({ output }) => output.split(`"operation":"${operation}"`).length - 1);
  }

  /** Kills a replica as it is (SIGKILL). */
  async kill(index: number): Promise<void> {
    await this.#replica(index).end("SIGKILL");
  }

  /** Starts a replica that has ended, and waits until it gets requests from the proxy again. */
  async startAgain(index: number): Promise<void> {
    const replica = this.#start(this.#ports[index] as string);
    this.#replicas[index] = replica;
    await replica.url();
    // nginx goes back to the example.
    if (this.#name === "nginx") await this.#proxy.reload((config) => config);
    await waitUntil("requests for the replica", async () => {
      await this.ask("/api/v1/communities");
      return (this.served("ListCommunities")[index] as number) > 0;
    });
  }

  /** Restarts a replica as docs/deploying.md says. */
  async restart(index: number): Promise<void> {
    await this.#exclude(index);
    await this.#replica(index).end("SIGTERM");
    await this.startAgain(index);
  }

  #replica(index: number): ServiceProcess {
    return this.#replicas[index] as ServiceProcess;
  }

  #start(ownPort: string): ServiceProcess {
    return new ServiceProcess({
      STOA_PORT: ownPort,
      STOA_METRICS_PORT: "none",
      STOA_SITE_URL: "https://board.example",
      STOA_TRUST_PROXY: "127.0.0.1",
      STOA_STOP_DELAY_SECONDS: stopDelaySeconds,
      STOA_DATABASE_URL: urlOf(this.db.config),
      ...this.#settings,
    });
  }

  /** Stock nginx does not ask /readyz: an operator marks the replica as down, and reloads. */
  async #exclude(index: number): Promise<void> {
    const address = `server 127.0.0.1:${this.#ports[index]}`;
    if (this.#name === "nginx") await this.#proxy.reload((config) => config.replaceAll(address, `${address} down`));
  }
}

const port = async () => String(await freePort());
