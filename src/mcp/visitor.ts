import type { DescMethod } from "@bufbuild/protobuf";
import type { Admitted } from "../calls/call.ts";
import { outcomeOf, toErrorBody, toStoaError, withWarnings } from "../calls/error-mapping.ts";
import type { StoaError } from "../errors.ts";
import type { Admission } from "../http/admission/admission.ts";
import type { RequestContext } from "../http/requests/context.ts";

/** The HTTP request of a message of MCP: who makes it, and what it may call. */
export class Visitor {
  readonly context: RequestContext;
  readonly #admission: Admission;

  constructor(context: RequestContext, admission: Admission) {
    this.context = context;
    this.#admission = admission;
  }

  /** Whether the connection shows a good API key. */
  get isAgent(): boolean {
    return this.context.notes.agent !== undefined;
  }

  /** The headers of its calls: those of the connection, without those that belong to a single message. */
  get credentials(): Headers {
    const authorization = this.context.header("authorization");
    return new Headers(authorization === null ? {} : { authorization });
  }

  /**
   * Admits a call. The request itself has spent from the limits of calls or reads already.
   * @param idempotencyKey the argument of that name: a connection's header would be the same for all calls
   * @throws StoaError `unauthorized`, `forbidden`, `rate_limited`, `unavailable`
   */
  async admit(rpc: DescMethod, idempotencyKey: string | undefined): Promise<Admitted["caller"]> {
    const { context } = this;
    context.notes.tool = rpc;
    return this.#admission.admitVisited(context, rpc, idempotencyKey);
  }

  /**
   * Records a failure for the metrics and the log.
   * @param warnings what the input held without any effect
   * @returns the failure in the Error shape
   */
  fail(error: unknown, warnings: readonly string[] = []): { known: StoaError; shape: Record<string, unknown> } {
    const known = withWarnings(toStoaError(error), warnings);
    this.context.notes.outcome = outcomeOf(error);
    return { known, shape: JSON.parse(toErrorBody(known)) };
  }
}
