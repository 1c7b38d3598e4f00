import { constants } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import type { FastifyBaseLogger } from "fastify";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import type { Admitted, Outcome } from "../../calls/call.ts";
import { Operator } from "../../calls/operator.ts";
import type { ShowingCall, ShownKey } from "../../calls/service-table.ts";
import { rulesOf } from "../../contract/rules.ts";
import { errorStatus, StoaError } from "../../errors.ts";
import type { Overload } from "../../process/overload.ts";
import type { RateLimiter } from "../../rate-limits/request-limits.ts";
import { type ArrivedRequest, RequestContext } from "../requests/context.ts";
import type { HttpResponse } from "../requests/http-messages.ts";
import { Authentication, type CredentialTable } from "./authentication.ts";
import type { ClientAddresses } from "./client-address.ts";

interface AdmissionOptions {
  limiter: RateLimiter;
  addresses: ClientAddresses;
  table: CredentialTable;
  overload: Pick<Overload, "refusal">;
  log: FastifyBaseLogger;
}

/** How long after the beginning of its admission a call's message is late, in milliseconds. */
export const lateMs = 100;

/**
 * Admits a call before its message is read, and finds out who makes it where that is required. Returns at once where no key
 * has to be looked up.
 * @param admitted the caller, to look again once the message has come late: the key may have ended meanwhile, or its agent be
 *   suspended. This spends nothing again
 * @returns the caller; undefined of a public operation
 * @throws StoaError `rate_limited`, `unauthorized`, `forbidden`, `unavailable`
 */
export type Admit = (context: RequestContext, admitted?: Admitted["caller"]) => Promise<Admitted["caller"]> | undefined;

/**
 * Every request passes `begin` and `end`. Those that are limited pass `visit`, or what `admitterOf` makes, in between.
 * Admission finds out who makes the request, and applies the rate limits of this process. A request with a good API key
 * spends from the limit of the agent's calls alone. Every other request spends from the limits of its address: reads,
 * refused requests and wrong keys.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #authentication: Authentication;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#authentication = new Authentication(options.table);
  }

  /** Makes the context of a request, before anything else is done with it. */
  begin(arrived: Omit<ArrivedRequest, "client" | "limits" | "log">): RequestContext {
    const { addresses, limiter, log } = this.#options;
    const client = addresses.locate(arrived.request);
    return new RequestContext({ ...arrived, log, client, limits: limiter.begin(client.counted) });
  }

  /**
   * To be called when the response is sent, or the client has disconnected. An agent's faults do not count against the
   * address that it uses.
   */
  end({ client, notes, response, route }: RequestContext): void {
    const { agent, outcome } = notes;
    if (agent !== undefined) return;
    if (outcome === undefined ? isFaulty(response, route.limits === "rpc") : isFault(outcome)) {
      this.#options.limiter.spendRefusal(client.counted);
    }
  }

  /** To be called when a connection has sent something that is not a request: it counts as a refused request. */
  countUnparsable(socket: { readonly remoteAddress?: string | undefined }): void {
    const peer = this.#options.addresses.ofConnection(socket);
    if (peer !== undefined) this.#options.limiter.spendRefusal(peer);
  }

  /**
   * Admits a request that is not a call of the contract. It spends from its agent's limit if it shows a good key, else from
   * its address's. Returns at once where no key has to be looked up.
   * @throws StoaError `rate_limited`, `unavailable`
   */
  visit(context: RequestContext): Promise<undefined> | undefined {
    if (this.#options.overload.refusal !== undefined) throw this.#options.overload.refusal;
    return this.#visit(context, this.#keyOf(context));
  }

  /** Finds out whether a request shows a good key. It spends nothing except for a wrong key, and refuses nothing. */
  async identify(context: RequestContext): Promise<undefined> {
    const key = this.#keyOf(context);
    if (key === undefined) return undefined;
    const agent =
      this.#options.table.keys.agentOf(key) ?? (await this.#authentication.findAgent(context, key, undefined));
    context.notes.agent = agent;
    if (agent === undefined) context.limits.spendCredential();
    return undefined;
  }

  /** How the calls of an RPC are admitted, by the rules of the contract. */
  admitterOf(rpc: DescMethod): Admit {
    const { access, limit, isPublicWrite, isRegistration } = rulesOf(rpc);
    return (context, admitted) => {
      if (admitted !== undefined && !(admitted instanceof Operator)) {
        const idempotencyKey = context.header("idempotency-key");
        return this.#authentication.admitVisitingAgent(context, rpc, this.#keyOf(context), idempotencyKey);
      }
      if (this.#options.overload.refusal !== undefined) throw this.#options.overload.refusal;
      if (limit !== undefined) context.limits.spendFrom(limit);
      if (access === Access.OPERATOR) return this.#authentication.admitOperator(context, rpc);
      if (isPublicWrite) checkSite(context);
      const key = this.#keyOf(context);
      if (access !== Access.PUBLIC) return this.#authentication.admitAgent(context, rpc, key);
      const visit = this.#visit(context, key, rpc);
      return isRegistration ? this.#authentication.admitRegistration(context, visit) : visit;
    };
  }

  /**
   * Admits a call within a request that `visit` has admitted: a message of MCP, whose call is known once its body is read.
   * The call does not spend again what the visit has spent.
   * @param idempotencyKey the argument of that name: the header would be the same for all calls of a connection
   * @returns the caller; undefined of a public operation
   * @throws StoaError `rate_limited`, `unauthorized`, `forbidden`, `unavailable`
   */
  async admitVisited(
    context: RequestContext,
    rpc: DescMethod,
    idempotencyKey: string | undefined,
  ): Promise<Admitted["caller"]> {
    const { access, limit, isPublicWrite, isRegistration } = rulesOf(rpc);
    if (limit !== undefined) context.limits.spendFrom(limit);
    if (access !== Access.PUBLIC) {
      const key = this.#keyOf(context);
      return this.#authentication.admitVisitingAgent(context, rpc, key, idempotencyKey);
    }
    if (isPublicWrite) checkSite(context);
    if (isRegistration) await this.#authentication.admitRegistration(context, undefined);
    return undefined;
  }

  /** The API key that a request shows. */
  #keyOf(context: RequestContext): ShownKey | undefined {
    const authorization = context.header("authorization");
    return authorization === null ? undefined : this.#options.table.keys.shown(authorization);
  }

  #visit(context: RequestContext, key: ShownKey | undefined, rpc?: DescMethod): Promise<undefined> | undefined {
    if (key === undefined) {
      context.limits.spendRead();
      return undefined;
    }
    const agent = this.#options.table.keys.agentOf(key);
    if (agent === undefined) return this.#visitWithUnknownKey(context, key, rpc && { rpc, signal: context.signal });
    context.notes.agent = agent;
    context.limits.spendCall(agent);
    return undefined;
  }

  /** A wrong key on a public operation is ignored, but counts as wrong. */
  async #visitWithUnknownKey(
    context: RequestContext,
    key: ShownKey,
    call: ShowingCall | undefined,
  ): Promise<undefined> {
    const agent = await this.#authentication.findAgent(context, key, call);
    context.notes.agent = agent;
    if (agent !== undefined) context.limits.spendCall(agent);
    else {
      context.limits.spendCredential();
      context.limits.spendRead();
    }
    return undefined;
  }
}

/**
 * Refuses a write that needs no key if a page of another site makes it: the page could write in the name of its visitor,
 * from the visitor's address.
 */
function checkSite(context: RequestContext): void {
  if (context.header("sec-fetch-site") !== "cross-site") return;
  context.limits.enforceRefusals();
  throw new StoaError("forbidden", "Pages of other sites may not do this.");
}

/**
 * Whether a request that did not become a call was refused for a fault of its own.
 * @param isRpc whether it was an RPC, which was then refused whatever its status is: gRPC answers a message that cannot be
 * read with 200 and a status in the trailers, and Connect one that is too large with 429
 */
function isFaulty({ statusCode, stream, writableFinished }: HttpResponse, isRpc: boolean): boolean {
  // Node ends the response to a stream that its client has reset, so the response looks finished.
  const isReset = stream !== undefined && stream.rstCode !== constants.NGHTTP2_NO_ERROR;
  if (!writableFinished || isReset) return false;
  return isRpc || (statusCode >= 400 && statusCode < 500);
}

/** Whether the caller is at fault for an outcome. A call that comes too soon is not a fault. */
function isFault(outcome: Outcome): boolean {
  if (outcome === "ok" || outcome === "canceled") return false;
  return outcome === "refused" || (errorStatus[outcome] < 500 && outcome !== "rate_limited");
}
