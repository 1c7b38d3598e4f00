import type { FastifyBaseLogger } from "fastify";
import type { IndexerPace } from "../board/search/indexer.ts";
import type { ServerOptions } from "../http/server.ts";
import type { Clocks } from "../ledger/clock/trusted-clock.ts";

/** Values that do not come from the environment. Most of them are for tests. */
export interface Overrides {
  /** The time in milliseconds since 1970 (UTC). */
  now?: () => number;
  /** The clocks of the machine; where only `now` is given, all of them follow it. */
  clocks?: Clocks;
  /** The database's clock, in milliseconds since 1970 (UTC); where `now` or `clocks` is given, it agrees by default. */
  databaseNow?: () => number;
  /** Whether the service seals days by the clock; by default it does. */
  sealsDays?: boolean;
  /** Whether the service does by itself what becomes due as time passes, such as erasures; by default it does. */
  sweeps?: boolean;
  log?: FastifyBaseLogger;
  /** Asks the service to stop: a start that is still going on is given up. */
  signal?: AbortSignal;
  /** Called when the port is open and nothing else has been done: the last moment that needs the rights of root. */
  portOpened?: () => Promise<void>;
  /** How often the guard looks at the ledger's head while nobody reads it, in milliseconds. */
  guardLookMs?: number;
  /** How long the reply to a seal waits for the guard's file, in milliseconds. */
  guardStoreMs?: number;
  /** How often the service looks for a log that another replica has begun, and for its notes, in milliseconds. */
  logLookMs?: { identity?: number; notes?: number };
  /** The pace of the indexer of search. */
  indexerPace?: IndexerPace;
  /** How often the service checks that the database accepts connections and writes, in milliseconds. */
  databaseLookMs?: number;
  /** How the service reads its memory use to detect overload. */
  memory?: ServerOptions["memory"];
  /** How often a REST stream says that it is alive, in milliseconds. */
  heartbeatMs?: number;
  /** How long a caller waits for another verification than the one it asks for, in milliseconds. */
  verificationWaitMs?: number;
  /** How long a good report of a verification is given again, in milliseconds. */
  verificationAgeMs?: number;
}
