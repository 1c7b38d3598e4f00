import type { DescMethod } from "@bufbuild/protobuf";
import type { Admitted } from "../calls/call.ts";
import { outcomeOf, toErrorBody, toStoaError } from "../calls/error-mapping.ts";
import type { StoaError } from "../errors.ts";
import type { Admission } from "../http/admission/admission.ts";
import type { RequestContext } from "../http/requests/context.ts";
import type { YieldQueue } from "../timing/yield-queue.ts";
import { HeldJson, isLarge, toFragments } from "./held-json.ts";

/** The HTTP request of a message of MCP: who makes it, what it may call, and the large results of its calls. */
export class Visitor {
  readonly context: RequestContext;
  /** The JSON of the result, if it is large. */
  held: HeldJson | undefined = undefined;
  readonly #admission: Admission;
  readonly #writing: YieldQueue;

  /** @param writing the large results of all visitors, which are written one at a time */
  constructor(context: RequestContext, admission: Admission, writing: YieldQueue) {
    this.context = context;
    this.#admission = admission;
    this.#writing = writing;
  }

  /** Whether the connection shows a good API key. */
  get isAgent(): boolean {
    return this.context.notes.agent !== undefined;
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
   * Makes the JSON of a result.
   * @returns the JSON as a text and as a value; tokens for both if it is large, and then `held` has the JSON
   */
  toJson(members: Record<string, unknown>): { text: string; value: Record<string, unknown> } {
    const fragments = toFragments(members);
    const text = this.toText(fragments);
    return { text, value: this.held === undefined ? members : this.held.value };
  }

  /** Joins a text. @returns a token if it is large, and then `held` has the text */
  toText(fragments: readonly string[]): string {
    if (!isLarge(fragments)) return fragments.join("");
    this.held = new HeldJson(fragments, this.#writing);
    return this.held.token;
  }

  /** Records a failure for the metrics and the log. @returns the failure in the Error shape */
  fail(error: unknown): { known: StoaError; shape: Record<string, unknown> } {
    const known = toStoaError(error);
    this.context.notes.outcome = outcomeOf(error);
    return { known, shape: JSON.parse(toErrorBody(known)) };
  }
}
