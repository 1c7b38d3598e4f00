import { Ticker } from "../../timing/ticker.ts";
import { Database } from "./database.ts";
import { explainFailure } from "./database-errors.ts";
import type { DatabaseAddress } from "./pool/session.ts";
import type { Reader } from "./queryable.ts";

/** How often the watch looks at the database, in milliseconds. Requests for readiness do not add looks. */
const defaultLookMs = 10_000;
/** How long connecting and each statement of a look may take, in milliseconds. */
const timeoutMs = 3_000;

export interface DatabaseWatchOptions {
  address: DatabaseAddress;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  lookMs?: number | undefined;
  /** Whether writes are already refused because the disk is full. Then the watch tries none: the server might end. */
  refusesWrites?: (() => boolean) | undefined;
  /** Called in each look with a reader on its connection. */
  onLook?(db: Reader): Promise<void>;
}

/**
 * Watches whether the database accepts new connections and writes. Open connections may still answer when it does not. Each
 * look opens its own connection.
 */
export class DatabaseWatch {
  readonly #options: DatabaseWatchOptions;
  readonly #ticker: Ticker;
  #connection: string | undefined;
  #writes: string | undefined;

  constructor(options: DatabaseWatchOptions) {
    this.#options = options;
    let isStart = true;
    const look = async (signal: AbortSignal) => {
      // The start has opened connections just now.
      if (!isStart) await this.#look(signal);
      isStart = false;
    };
    this.#ticker = new Ticker(options.lookMs ?? defaultLookMs, look, (err) =>
      options.log.warn({ err }, "the database could not be checked"),
    );
  }

  /** Why the last look could not connect, for the operator; undefined when it could. */
  get connectionWarning(): string | undefined {
    return this.#connection;
  }

  /** Why the last look could not write, for the operator; undefined when it could. */
  get writeWarning(): string | undefined {
    return this.#writes;
  }

  stop(): Promise<void> {
    return this.#ticker.stop();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const db = new Database({ address: this.#options.address, connections: 1, timeoutMs });
    try {
      const connection = await failureOf(() => db.reader(signal).rows("SELECT 1"));
      signal.throwIfAborted();
      this.#connection = this.#changed(
        this.#connection,
        connection && `The database accepts no new connections: ${connection}. Requests use the open connections.`,
        "the database accepts new connections again",
      );
      // Without a connection nothing is known about writes.
      if (connection !== undefined) return;
      const refuses = this.#options.refusesWrites?.() === true;
      const writes = refuses ? undefined : await whyNoWrites(db, signal);
      signal.throwIfAborted();
      this.#writes = this.#changed(
        this.#writes,
        writes && `The database accepts no writes: ${writes}. Reads still work.`,
        "the database accepts writes again",
      );
      await this.#options.onLook?.(db.reader(signal));
    } finally {
      await db.close();
    }
  }

  #changed(before: string | undefined, after: string | undefined, well: string): string | undefined {
    if (after !== undefined && after !== before) this.#options.log.warn({}, after);
    if (after === undefined && before !== undefined) this.#options.log.info({}, well);
    return after;
  }
}

/** Reads the read-only settings first: accounts with special rights could write to a read-only node, and must not. */
async function whyNoWrites(db: Database, signal: AbortSignal): Promise<string | undefined> {
  const settings = await db
    .reader(signal)
    .rows<{ Variable_name: string; Value: string }>(
      "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', 'innodb_read_only')",
    );
  const set = settings.filter(({ Value }) => !["OFF", "0"].includes(Value.toUpperCase()));
  if (set.length > 0) return `this node is read-only (${set.map(({ Variable_name: name }) => name).join(", ")})`;
  return failureOf(async () => {
    const taken = new Error("The row can be written. The change is rolled back.");
    await db
      .transaction(signal, async (tx) => {
        await tx.run("UPDATE ledger_verification SET round = round + 1 WHERE id = 1");
        throw taken;
      })
      .catch((error) => {
        if (error !== taken) throw error;
      });
  });
}

async function failureOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return explainFailure(error);
  }
}
