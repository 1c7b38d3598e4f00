import type { FastifyBaseLogger } from "fastify";
import type { IndexerPace } from "../board/search/indexer.ts";
import type { ServerOptions } from "../http/server.ts";
import type { Clocks } from "../ledger/clock/trusted-clock.ts";

/** Values that do not come from the environment. Most of them are for tests. */
export interface Overrides {
  /** The time in milliseconds since 1970 (UTC). */
  now?: () => number;
  /** The clocks of the machine; if only `now` is given, all of them follow it. */
  clocks?: Clocks;
  /** The database's clock, in milliseconds since 1970 (UTC). By default it follows `clocks` or `now`, if given. */
  databaseNow?: () => number;
  /** Whether the service seals each day when it is over; by default true. */
  sealsDays?: boolean;
  /** Whether the service does by itself what becomes due as time passes, such as erasures; by default it does. */
  sweeps?: boolean;
  log?: FastifyBaseLogger;
  /** Aborts a start that is still going on. */
  signal?: AbortSignal;
  /** Called when the ports are open and the database is not used yet. Root is not needed after this. */
  portOpened?: () => Promise<void>;
  /** How often the head guard checks the chain while nobody reads it, in milliseconds. */
  guardLookMs?: number;
  /** How long the reply to a seal waits for the head guard's file, in milliseconds. */
  guardStoreMs?: number;
  /** How often the service looks for a log that another replica has begun, and for its notes, in milliseconds. */
  logLookMs?: { identity?: number; notes?: number };
  /** The pace of the indexer of search. */
  indexerPace?: IndexerPace;
  /** How often the service checks that the database accepts connections and writes, in milliseconds. */
  databaseLookMs?: number;
  /** How the service reads its memory use to detect overload. */
  memory?: ServerOptions["memory"];
  /** How often REST and MCP streams send a heartbeat, in milliseconds. */
  heartbeatMs?: number;
  /** How long a caller waits while another part of the chain is verified, in milliseconds. */
  verificationWaitMs?: number;
  /** How long a good report of a verification is reused, in milliseconds. */
  verificationAgeMs?: number;
}
