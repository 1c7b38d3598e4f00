import { type Client, createClient } from "@connectrpc/connect";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { rootAddress } from "./http.ts";
import type { RetryOptions } from "./retrying-transport.ts";
import { createTransport } from "./transport.ts";

export interface OperatorClientOptions extends RetryOptions {
  /**
   * The service's `STOA_OPERATOR_TOKEN`. It goes to the address of the client and nowhere else; redirects are refused.
   */
  operatorToken: string;
}

/** The operator's part of the ledger: sealing, for internal services. */
export type OperatorClient = Client<typeof LedgerOperatorService>;

/**
 * Creates an operator's client of the Stoa at a root address. Calls throw StoaError, like those of `createStoaClient`.
 * A session is sealed once, however often its call is repeated. `sealDaily` is not repeated; it fails with `exists` for
 * a day that is already sealed.
 * @throws TypeError for a bad address
 */
export function createOperatorClient(
  url: string,
  { operatorToken, ...options }: OperatorClientOptions,
): OperatorClient {
  return createClient(LedgerOperatorService, createTransport(rootAddress(url), operatorToken, options));
}
