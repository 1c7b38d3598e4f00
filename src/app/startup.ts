import type { FastifyBaseLogger } from "fastify";
import type { Config } from "../config/config.ts";
import type { SealChecks } from "../ledger/sealing/seal-checks.ts";
import type { Warnings } from "../warnings.ts";
import type { Overrides } from "./overrides.ts";
import type { Shutdown } from "./shutdown.ts";

/** What every step of the start gets. */
export interface Startup {
  readonly config: Config;
  readonly overrides: Overrides;
  readonly log: FastifyBaseLogger;
  /** Each step adds what ends it. Its signal also gives the start up. */
  readonly shutdown: Shutdown;
  /** Each step adds what it wants the operator to know. */
  readonly warnings: Warnings;
  /** Each step adds what may forbid sealing. */
  readonly sealChecks: SealChecks;
}

/** The service, running. */
export interface App {
  /** The address of the service, such as http://127.0.0.1:8080. */
  readonly url: string;
  /** The address of the metrics; undefined where they have no port of their own. */
  readonly metricsUrl: string | undefined;
  /** Reads the file of STOA_OPERATOR_TOKENS_FILE again. If it cannot be used, nothing changes, and the log says why. */
  readTokensAgain(): void;
  /**
   * Stops the service. For the time of STOA_STOP_DELAY_SECONDS it serves on, but is not ready any more. Then running calls
   * finish within the drain time, and connections, pool and private server end. Resolves within these times and 9 s, even if
   * something does not answer.
   * @param atOnce whether there is no delay; it also ends a delay that is running
   */
  close(options?: { atOnce?: boolean }): Promise<void>;
}
