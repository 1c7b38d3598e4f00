import type { DescMethod } from "@bufbuild/protobuf";
import type { FastifyRequest } from "fastify";
import { toErrorBody, toStoaError } from "../calls/error-mapping.ts";
import { recordFailure } from "../calls/outcome.ts";
import type { StoaError } from "../errors.ts";
import type { Admission } from "../http/admission/admission.ts";

/** The HTTP request that a message of MCP came in, and its dealings with the service. */
export class Visitor {
  readonly request: FastifyRequest;
  readonly #admission: Admission;

  constructor(request: FastifyRequest, admission: Admission) {
    this.request = request;
    this.#admission = admission;
  }

  /** Whether the connection shows a good API key. */
  get isAgent(): boolean {
    return this.request.context.agent !== undefined;
  }

  /**
   * Admits a call. The request itself has spent from the limits of calls or reads already.
   * @param idempotencyKey the argument of that name: a connection's header would be the same for all calls
   * @throws StoaError `unauthorized`, `forbidden`, `rate_limited`, `unavailable`
   */
  async admit(rpc: DescMethod, idempotencyKey: string | undefined): Promise<void> {
    const { context, raw } = this.request;
    context.tool = rpc;
    await this.#admission.admitVisited(context, {
      rpc,
      header: (name) =>
        name === "idempotency-key" ? (idempotencyKey ?? null) : ((raw.headers[name] as string | undefined) ?? null),
      signal: context.signal,
    });
  }

  /** Records a failure for the metrics and the log. @returns the failure in the Error shape */
  fail(error: unknown): { known: StoaError; shape: Record<string, unknown> } {
    const { context } = this.request;
    const known = toStoaError(error);
    recordFailure(context, error);
    context.isFault ??= known.code !== "rate_limited" && known.code !== "unavailable" && known.code !== "internal";
    return { known, shape: JSON.parse(toErrorBody(known)) };
  }
}
