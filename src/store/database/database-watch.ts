import { Ticker } from "../../timing/ticker.ts";
import { explainFailure } from "./connect-failures.ts";
import { Database } from "./database.ts";
import type { DatabaseAddress } from "./pool/socket.ts";
import type { Queryable } from "./queryable.ts";

/** How often the watch looks at the database, in milliseconds. Requests for readiness do not add looks. */
const defaultLookMs = 10_000;
/** How long connecting and the statements of a look may take in all, in milliseconds. `onLook` is not included. */
const timeoutMs = 3_000;

export interface DatabaseWatchOptions {
  address: DatabaseAddress;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  lookMs?: number | undefined;
  /** Whether writes are refused because the disk is full. Then the watch writes nothing either: that might end the server. */
  refusesWrites?: (() => boolean) | undefined;
  /** Called in each look that could connect. */
  onLook?(signal: AbortSignal): Promise<void>;
}

/**
 * Watches whether the database accepts new connections and writes. Each look opens its own connection, because open ones may
 * still work when new ones are refused.
 */
export class DatabaseWatch {
  readonly #options: DatabaseWatchOptions;
  readonly #ticker: Ticker;
  /** For the operator: why the last look could not connect; undefined when it could. */
  connectionWarning: string | undefined;
  /** For the operator: why writes failed in the last look that could connect; undefined when they did not. */
  writeWarning: string | undefined;

  constructor(options: DatabaseWatchOptions) {
    this.#options = options;
    let isStart = true;
    const look = async (signal: AbortSignal) => {
      // The first look is skipped: the start has just opened connections.
      if (!isStart) await this.#look(signal);
      isStart = false;
    };
    this.#ticker = new Ticker(options.lookMs ?? defaultLookMs, look, (err) =>
      options.log.warn({ err }, "the database could not be checked"),
    );
  }

  stop(): Promise<void> {
    return this.#ticker.stop();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { address, refusesWrites, onLook } = this.#options;
    const db = new Database({ address, connections: 1, timeoutMs });
    const { connection, writes } = await check(db, signal, refusesWrites?.() === true).finally(() => db.close());
    signal.throwIfAborted();
    this.connectionWarning = this.#changed(
      this.connectionWarning,
      connection && `The database accepts no new connections: ${connection}. Requests use the open connections.`,
      "the database accepts new connections again",
    );
    // Without a connection nothing is known about writes.
    if (connection !== undefined) return;
    this.writeWarning = this.#changed(
      this.writeWarning,
      writes && `The database accepts no writes: ${writes}. Reads still work.`,
      "the database accepts writes again",
    );
    await onLook?.(signal);
  }

  #changed(before: string | undefined, after: string | undefined, well: string): string | undefined {
    if (after !== undefined && after !== before) this.#options.log.warn({}, after);
    if (after === undefined && before !== undefined) this.#options.log.info({}, well);
    return after;
  }
}

/** @returns why no connection could be made, or why no row could be written; neither if all is well or writes are refused */
async function check(
  db: Database,
  signal: AbortSignal,
  refusesWrites: boolean,
): Promise<{ connection?: string; writes?: string | undefined }> {
  let isConnected = false;
  const isOver = new Error("The row can be written. The change is rolled back.");
  try {
    return await db.transaction(signal, async (tx) => {
      const reason = await whyReadOnly(tx);
      isConnected = true;
      if (refusesWrites) return {};
      if (reason !== undefined) return { writes: reason };
      await tx.run("UPDATE ledger_verification SET round = round + 1 WHERE id = 1");
      throw isOver;
    });
  } catch (error) {
    if (error === isOver) return {};
    return isConnected ? { writes: explainFailure(error) } : { connection: explainFailure(error) };
  }
}

/** Asked before a row is written: an account with special rights could write to a read-only server, and must not. */
async function whyReadOnly(db: Queryable): Promise<string | undefined> {
  const settings = await db.rows<{ Variable_name: string; Value: string }>(
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', 'innodb_read_only')",
  );
  const set = settings.filter(({ Value }) => !["OFF", "0"].includes(Value.toUpperCase()));
  if (set.length === 0) return undefined;
  return `this node is read-only (${set.map(({ Variable_name: name }) => name).join(", ")})`;
}
