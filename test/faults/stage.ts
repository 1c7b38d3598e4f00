import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPool, type RowDataPacket } from "mysql2/promise";
import type { DatabaseConfig } from "../../src/config/config.ts";
import type { TestDatabase } from "../support/database.ts";
import { createLinkedDatabase } from "../support/database-link.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import type { Relay } from "../support/relay.ts";

export const operatorToken = "faults-operator-token-0123456789-abcdef";
const common = {
  STOA_OPERATOR_TOKEN: operatorToken,
  STOA_METRICS_PORT: "none",
  STOA_LOG_LEVEL: "warn",
  // All agents have the same address here.
  STOA_RATE_LIMITS: "off",
  STOA_SITE_URL: "http://stoa.example",
  STOA_DRAIN_SECONDS: "2",
};
/** A stop must end within the drain time plus 10 s, in milliseconds. */
export const stopBoundMs = 12_000;

/** A service for one fault, on a private database or on one behind a relay. */
export class Stage {
  readonly settings: Record<string, string>;
  readonly dataDir: string;
  readonly relay: Relay;
  service: ServiceProcess;
  url = "";
  readonly #database: DatabaseConfig | undefined;
  readonly #cleanUp: (() => unknown)[] = [];

  private constructor(
    settings: Record<string, string>,
    dataDir: string,
    link?: { relay: Relay; direct: DatabaseConfig },
  ) {
    this.settings = { ...common, STOA_DATA_DIR: dataDir, ...settings };
    this.dataDir = dataDir;
    this.relay = link?.relay as Relay;
    this.#database = link?.direct;
    this.service = new ServiceProcess(this.settings);
  }

  /** A service on a private database. @param dataDir a new folder by default */
  static async onPrivateDatabase(settings: Record<string, string> = {}, dataDir?: string): Promise<Stage> {
    const folder = dataDir ?? mkdtempSync(join(tmpdir(), "stoa-fault-"));
    const stage = new Stage(settings, folder);
    if (dataDir === undefined) stage.onClose(() => rmSync(folder, { recursive: true, force: true }));
    stage.url = await stage.service.url();
    return stage;
  }

  /** A service on a database that it reaches through `relay`. */
  static async behindRelay(settings: Record<string, string> = {}): Promise<Stage> {
    const db = await createLinkedDatabase();
    const folder = mkdtempSync(join(tmpdir(), "stoa-fault-"));
    // The account of the service must be able to write there.
    chmodSync(folder, 0o777);
    const link = { relay: db.relay, direct: db.directConfig };
    const stage = new Stage({ STOA_DATABASE_URL: urlOf(db.config), ...settings }, folder, link);
    stage.onClose(() => rmSync(folder, { recursive: true, force: true }));
    stage.url = await stage.service.url();
    return stage;
  }

  onClose(step: () => unknown): void {
    this.#cleanUp.push(step);
  }

  /** Restarts the service at its old address. */
  async start(): Promise<void> {
    this.service = new ServiceProcess({ ...this.settings, STOA_PORT: new URL(this.url).port });
    await this.service.url();
  }

  /** Asks the service to stop. @returns what went wrong with the stop */
  async stop(state: string): Promise<string[]> {
    const begun = performance.now();
    await this.service.end("SIGTERM");
    const ms = Math.round(performance.now() - begun);
    const code = await this.service.exited;
    return code === 0 && ms < stopBoundMs ? [] : [`SIGTERM ${state}: exit code ${code} after ${ms} ms`];
  }

  /** The process id of the private database's server. */
  databasePid(): number {
    return this.#record().pid;
  }

  /** Connects to the database without the service. The caller closes the connection. */
  openDatabase(): TestDatabase {
    const config = this.#database ?? {
      socketPath: join(this.#record().socketFolder, "server.sock"),
      user: "root",
      database: "stoa",
    };
    const pool = createPool({ ...config, connectionLimit: 2, supportBigNumbers: true });
    const rows = async <Row>(sql: string, params: unknown[] = []) =>
      (await pool.query<RowDataPacket[]>(sql, params as never))[0] as Row[];
    return { config, pool, rows };
  }

  async withDatabase<Result>(work: (db: TestDatabase) => Promise<Result>): Promise<Result> {
    const db = this.openDatabase();
    try {
      return await work(db);
    } finally {
      await db.pool.end();
    }
  }

  async close(): Promise<void> {
    await this.service.end("SIGTERM");
    for (const step of this.#cleanUp.splice(0).reverse()) await step();
  }

  #record(): { pid: number; socketFolder: string } {
    return JSON.parse(readFileSync(join(this.dataDir, "mysql.json"), "utf8"));
  }
}
