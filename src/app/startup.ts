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
  /** Each step adds the step that ends it. Its signal also aborts the start. */
  readonly shutdown: Shutdown;
  /** Each step adds its warnings for the operator. */
  readonly warnings: Warnings;
  /** Each step adds its checks that may block sealing. */
  readonly sealChecks: SealChecks;
}

/** The running service. */
export interface App {
  /** The address of the service, such as http://127.0.0.1:8080. */
  readonly url: string;
  /** The address of the metrics; undefined if they have no port of their own. */
  readonly metricsUrl: string | undefined;
  /** Reads the file of STOA_OPERATOR_TOKENS_FILE again. If it cannot be used, nothing changes, and the log says why. */
  readTokensAgain(): void;
  /**
   * Stops the service. During STOA_STOP_DELAY_SECONDS it still serves, but is not ready. Then running calls may finish
   * within the drain time, and the connections of clients, those to the database, and the private server end. Resolves
   * within these times and 9 s, even if something does not answer.
   * @param options.atOnce skips the delay, or ends it if it is running
   */
  close(options?: { atOnce?: boolean }): Promise<void>;
}
