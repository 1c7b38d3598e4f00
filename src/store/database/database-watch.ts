import { Ticker } from "../../timing/ticker.ts";
import { Database } from "./database.ts";
import { explainFailure } from "./database-errors.ts";
import type { DatabaseAddress } from "./pool/session.ts";
import type { Reader } from "./queryable.ts";

/** How often the database is looked at, in milliseconds: however many ask for readiness, it costs no more. */
const defaultLookMs = 10_000;
/** How long connecting and each statement of a look may take, in milliseconds. */
const timeoutMs = 3_000;

export interface DatabaseWatchOptions {
  address: DatabaseAddress;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  lookMs?: number | undefined;
  /** Whether writes are refused already, for a full disk: then none is tried, for the server might end at it. */
  refusesWrites?: (() => boolean) | undefined;
  /** Called in each look with a reader on its connection. */
  onLook?(db: Reader): Promise<void>;
}

/**
 * Looks at what the service needs of the database besides answers on open connections: that it takes a new connection, and
 * writes. Each look opens a connection of its own.
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
      options.log.warn({ err }, "the database could not be looked at"),
    );
  }

  /** Why no new connection comes about, for the operator; undefined while they do, as of the last look. */
  get connectionWarning(): string | undefined {
    return this.#connection;
  }

  /** Why nothing can be written, for the operator; undefined while it can, as of the last look. */
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
        connection && `The database takes no new connection: ${connection}. Requests use those that are open.`,
        "the database takes new connections again",
      );
      // What cannot be reached says nothing of its writes.
      if (connection !== undefined) return;
      const refuses = this.#options.refusesWrites?.() === true;
      const writes = refuses ? undefined : await whyNoWrites(db, signal);
      signal.throwIfAborted();
      this.#writes = this.#changed(
        this.#writes,
        writes && `The database takes no writes: ${writes}. Reads go on.`,
        "the database takes writes again",
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

/** Accounts with special rights may write to a node that is read-only, and should not; the others find out by a try. */
async function whyNoWrites(db: Database, signal: AbortSignal): Promise<string | undefined> {
  const settings = await db
    .reader(signal)
    .rows<{ Variable_name: string; Value: string }>(
      "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', 'innodb_read_only')",
    );
  const set = settings.filter(({ Value }) => !["OFF", "0"].includes(Value.toUpperCase()));
  if (set.length > 0) return `this node is read-only (${set.map(({ Variable_name: name }) => name).join(", ")})`;
  return failureOf(async () => {
    const taken = new Error("The row could be written, and is left as it was.");
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
