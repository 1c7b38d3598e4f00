import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseConfig } from "../../src/config/config.ts";
import type { TestDatabase } from "../support/database.ts";
import { createLinkedDatabase } from "../support/database-link.ts";
import { openDatabase } from "../support/open-database.ts";
import { underLoad, urlOf } from "../support/process.ts";
import type { Relay } from "../support/relay.ts";
import { Replica } from "../support/replica.ts";
import { askRest, type Reply } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

export const operatorToken = "faults-operator-token-0123456789-abcdef";
const common = { ...underLoad, STOA_OPERATOR_TOKEN: operatorToken, STOA_DRAIN_SECONDS: "2" };
/** A stop must end within the drain time plus 10 s, in milliseconds. */
const stopBoundMs = 12_000;

/** A service for one fault, on a private database or on one behind a relay. */
export class Stage {
  settings: Record<string, string> = common;
  dataDir = "";
  /** Between the service and its database, after `openBehindRelay`. */
  relay!: Relay;
  service!: Replica;
  /** Where its database is without the relay; undefined for a private one. */
  #database: DatabaseConfig | undefined;
  readonly #cleanUp: (() => unknown)[] = [];

  /** Starts the service on a private database. */
  async open(settings: Record<string, string> = {}, dataDir = this.folder(0o700)): Promise<void> {
    this.dataDir = dataDir;
    this.settings = { ...common, STOA_DATA_DIR: dataDir, ...settings };
    this.service = await Replica.begin(this.settings);
    await this.service.process.url();
  }

  /** Starts it on a database that it reaches through `relay`. */
  async openBehindRelay(settings: Record<string, string> = {}): Promise<void> {
    const { relay, directConfig, config } = await createLinkedDatabase();
    this.relay = relay;
    this.#database = directConfig;
    await this.open({ STOA_DATABASE_URL: urlOf(config), ...settings }, this.folder(0o777));
  }

  get url(): string {
    return this.service.url;
  }

  /** A folder until `close`. @param mode what the account of the service may do there */
  folder(mode = 0o755): string {
    const path = mkdtempSync(join(tmpdir(), "stoa-fault-"));
    chmodSync(path, mode);
    this.onClose(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }

  onClose(step: () => unknown): void {
    this.#cleanUp.push(step);
  }

  /** Stops the service, and starts it again. */
  async restart(): Promise<void> {
    await this.service.end("SIGTERM");
    await this.service.startAgain();
  }

  /** Asks the service to stop. @returns what went wrong with the stop */
  async stop(state: string): Promise<string[]> {
    const begun = performance.now();
    await this.service.end("SIGTERM");
    const ms = Math.round(performance.now() - begun);
    const code = await this.service.process.exited;
    return code === 0 && ms < stopBoundMs ? [] : [`SIGTERM ${state}: exit code ${code} after ${ms} ms`];
  }

  ready(): Promise<Reply> {
    return askRest(this.url, "/readyz");
  }

  /** What is wrong with /readyz unless it is 200 with such a warning. */
  async expectWarning(pattern: RegExp): Promise<string[]> {
    const { status, body } = await this.ready();
    return status === 200 && pattern.test(body.warning) ? [] : [`/readyz: ${status} ${JSON.stringify(body)}`];
  }

  async untilNoWarning(): Promise<void> {
    await waitUntil("no warning", async () => (await this.ready()).body.warning === undefined, 60_000);
  }

  /** The process id of the private database's server. */
  databasePid(): number {
    return this.#record().pid;
  }

  /** Connects to the database without the service. */
  async withDatabase<Result>(work: (db: TestDatabase) => Promise<Result>): Promise<Result> {
    const socketPath = () => join(this.#record().socketFolder, "server.sock");
    const db = openDatabase(this.#database ?? { socketPath: socketPath(), user: "root", database: "stoa" });
    try {
      return await work(db);
    } finally {
      await db.pool.end();
    }
  }

  async close(): Promise<void> {
    await this.service?.end("SIGTERM");
    for (const step of this.#cleanUp.splice(0).reverse()) await step();
  }

  #record(): { pid: number; socketFolder: string } {
    return JSON.parse(readFileSync(join(this.dataDir, "mysql.json"), "utf8"));
  }
}
