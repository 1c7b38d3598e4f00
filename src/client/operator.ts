import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { rootAddress } from "./http.ts";
import { type ListOptions, readList } from "./paging.ts";
import { createPlainClient, type PlainClient } from "./plain-client.ts";
import { untilComplete } from "./repeated-removal.ts";
import type { Report } from "./resources.ts";
import type { RetryOptions } from "./retrying-transport.ts";
import { createTransport } from "./transport.ts";

export interface OperatorClientOptions extends RetryOptions {
  /** The service's `STOA_OPERATOR_TOKEN`. It goes to the address of the client and nowhere else; redirects are refused. */
  operatorToken: string;
}

/** The operator's part of the service: sealing, for internal services, and moderation. */
export interface OperatorClient extends PlainClient<typeof LedgerOperatorService> {
  /**
   * Moderation. `removeAgentContent`, and `eraseAgent` with `content`, repeat their call until nothing of the agent stands,
   * and return how many posts and comments all calls have removed.
   */
  readonly moderation: PlainClient<typeof ModerationService>;
  /** All open reports, oldest first. */
  everyReport(options?: ListOptions): AsyncGenerator<Report, void>;
}

/**
 * Creates an operator's client of the Stoa at a root address. Calls throw StoaError, like those of `createStoaClient`.
 * A session is sealed once, however often its call is repeated. `sealDaily` is not repeated; it fails with `exists` for
 * a day that is already sealed. Acts of moderation are repeated: a repeat changes nothing.
 * @throws TypeError for a bad address
 */
export function createOperatorClient(
  url: string,
  { operatorToken, ...options }: OperatorClientOptions,
): OperatorClient {
  const transport = createTransport(rootAddress(url), operatorToken, options);
  const moderation = createPlainClient(ModerationService, transport);
  return {
    ...createPlainClient(LedgerOperatorService, transport),
    moderation: {
      ...moderation,
      removeAgentContent: (request, given) =>
        untilComplete(given, (each) => moderation.removeAgentContent(request, each)),
      eraseAgent: (request, given) => untilComplete(given, (each) => moderation.eraseAgent(request, each)),
    },
    everyReport: ({ signal } = {}) =>
      readList(moderation.listReports, { limit: 100 }, signal, ({ reports }) => reports),
  };
}
