import { Database } from "../database/database.ts";
import type { DatabaseAddress } from "../database/pool/socket.ts";
import { missingTriggers, warningOf } from "./append-only.ts";

/** How often the watch looks at the triggers, in milliseconds. */
const defaultLookMs = 30_000;
/** How long a look by the account of migrations may take, in milliseconds. */
const migrationTimeoutMs = 3_000;
const never = new AbortController().signal;

/** Watches whether the triggers exist: somebody may restore the database while the service runs. */
export class TriggerWatch {
  readonly #db: Database;
  readonly #migrationAddress: DatabaseAddress | undefined;
  readonly #lookMs: number;
  #warning: string | undefined;
  #lookedAt = performance.now();
  #looking: Promise<void> | undefined;

  /**
   * @param migrationAddress an account that may see triggers, if the serving account may not
   * @param warning the warning that the start found
   * @param lookMs how often it looks, in milliseconds
   */
  constructor(
    db: Database,
    migrationAddress: DatabaseAddress | undefined,
    warning: string | undefined,
    lookMs = defaultLookMs,
  ) {
    this.#lookMs = lookMs;
    this.#db = db;
    this.#migrationAddress = migrationAddress;
    this.#warning = warning;
  }

  /** The warning of the last look; undefined when all triggers existed. Reading it starts the next look when one is due. */
  get warning(): string | undefined {
    if (performance.now() - this.#lookedAt > this.#lookMs) {
      this.#looking ??= this.look().finally(() => {
        this.#looking = undefined;
      });
    }
    return this.#warning;
  }

  /** Looks now. When that fails, the previous result still counts. */
  async look(): Promise<void> {
    this.#lookedAt = performance.now();
    try {
      const missing = (await missingTriggers(this.#db.reader(never))) ?? (await this.#missingByMigration());
      if (missing !== undefined) this.#warning = missing.length === 0 ? undefined : warningOf(missing);
    } catch {
      // The other checks of readiness report a database that is away.
    }
  }

  async #missingByMigration(): Promise<string[] | undefined> {
    if (this.#migrationAddress === undefined) return undefined;
    const db = new Database({ address: this.#migrationAddress, connections: 1, timeoutMs: migrationTimeoutMs });
    try {
      return await missingTriggers(db.reader(never));
    } finally {
      await db.close();
    }
  }
}
