import { Database } from "../database/database.ts";
import type { DatabaseAddress } from "../database/pool/session.ts";
import { missingTriggers, warningOf } from "./append-only.ts";

/** How long a look at the triggers counts, in milliseconds. */
const defaultLookMs = 30_000;
/** How long a look by the account of migrations may take, in milliseconds. */
const migrationTimeoutMs = 3_000;
const never = new AbortController().signal;

/** Whether receipts are still guarded while the service runs: somebody may restore the database beneath it. */
export class TriggerWatch {
  readonly #db: Database;
  readonly #migrationAddress: DatabaseAddress | undefined;
  readonly #lookMs: number;
  #warning: string | undefined;
  #lookedAt = performance.now();
  #looking: Promise<void> | undefined;

  /**
   * @param migrationAddress an account that may see triggers, where the serving one may not
   * @param warning what the start found
   * @param lookMs how long a look counts, in milliseconds
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

  /** What the operator has to know, as of the last look; undefined while the triggers are there. It starts looks. */
  get warning(): string | undefined {
    if (performance.now() - this.#lookedAt > this.#lookMs) {
      this.#looking ??= this.look().finally(() => {
        this.#looking = undefined;
      });
    }
    return this.#warning;
  }

  /** Looks now. Where that fails, what was known before still counts. */
  async look(): Promise<void> {
    this.#lookedAt = performance.now();
    try {
      const missing = (await missingTriggers(this.#db.reader(never))) ?? (await this.#missingByMigration());
      if (missing !== undefined) this.#warning = missing.length === 0 ? undefined : warningOf(missing);
    } catch {
      // A database that is away is told by the rest of readiness.
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
