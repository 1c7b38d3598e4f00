import { constants } from "node:http2";
import type { Socket } from "node:net";
import type { FastifyBaseLogger } from "fastify";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import type { Admitted } from "../../calls/call.ts";
import type { ServiceTable, ShowingCall, ShownKey } from "../../calls/service-table.ts";
import { accessOf, isPublicWrite, isRegistration, limitOf } from "../../contract/rules.ts";
import { StoaError } from "../../errors.ts";
import type { RateLimiter } from "../../rate-limits/rate-limiter.ts";
import { type ArrivedRequest, RequestContext } from "../requests/context.ts";
import type { HttpResponse } from "../requests/http-messages.ts";
import { isFault } from "../requests/outcome.ts";
import { type Arrival, Authentication } from "./authentication.ts";
import type { ClientAddresses } from "./client-address.ts";

export interface AdmissionOptions {
  limiter: RateLimiter;
  addresses: ClientAddresses;
  table: Pick<ServiceTable, "keys" | "authenticate" | "checkRegistration">;
  /** Throws `StoaError` `unavailable` while the process takes no new work. */
  overload: { check(): void };
  log: FastifyBaseLogger;
}

/**
 * The way of every request into the service: `begin`, then one of `admit`, `visit` and `identify`, then `end`. Admission
 * finds out who makes the request and applies the rate limits of this process. A request with a good API key spends from
 * the limit of the agent's calls alone. Every other request spends from the limits of its address: reads, refused requests
 * and wrong keys.
 */
export class Admission {
  readonly #limiter: RateLimiter;
  readonly #addresses: ClientAddresses;
  readonly #table: AdmissionOptions["table"];
  readonly #overload: AdmissionOptions["overload"];
  readonly #authentication: Authentication;
  readonly #log: FastifyBaseLogger;

  constructor({ limiter, addresses, table, overload, log }: AdmissionOptions) {
    this.#limiter = limiter;
    this.#addresses = addresses;
    this.#table = table;
    this.#overload = overload;
    this.#authentication = new Authentication(table);
    this.#log = log;
  }

  /** Makes the context of a request, before anything else is done with it. */
  begin(arrived: Pick<ArrivedRequest, "request" | "response" | "id" | "url" | "route">): RequestContext {
    const client = this.#addresses.locate(arrived.request);
    const limits = this.#limiter.begin(client.counted);
    return new RequestContext({ ...arrived, log: this.#log, client, limits });
  }

  /**
   * To be called when the response is sent, or the client has disconnected. An agent's faults do not count against the
   * address that it uses.
   */
  end(context: RequestContext): void {
    const { agent, outcome } = context.notes;
    if (agent !== undefined || !(outcome === undefined ? isFaulty(context) : isFault(outcome))) return;
    this.#limiter.spendRefusal(context.client.counted);
  }

  /** To be called when a connection has sent something that is not a request: it counts as a refused request. */
  countUnparsable(socket: Socket): void {
    const peer = this.#addresses.ofConnection(socket);
    if (peer !== undefined) this.#limiter.spendRefusal(peer);
  }

  /**
   * Admits a request that is not a call of the contract. It spends from its agent's limit if it shows a good key, else from
   * its address's. Returns at once where no key has to be looked up.
   * @throws StoaError `rate_limited`, `unavailable`
   */
  visit(context: RequestContext): Promise<undefined> | undefined {
    this.#overload.check();
    return this.#visit(context, this.#table.keys.shown(context.request.headers.authorization ?? null));
  }

  /** Finds out whether a request shows a good key. It spends nothing except for a wrong key, and refuses nothing. */
  async identify(context: RequestContext): Promise<undefined> {
    const key = this.#table.keys.shown(context.request.headers.authorization ?? null);
    if (key === undefined) return undefined;
    const agent = this.#table.keys.agentOf(key) ?? (await this.#authentication.findAgent(context, key, undefined));
    context.notes.agent = agent;
    if (agent === undefined) context.limits.spendCredential();
    return undefined;
  }

  /**
   * Admits a call, and finds out who makes it where the contract requires that. Returns at once where no key has to be
   * looked up.
   * @returns the caller; undefined of a public operation
   * @throws StoaError `rate_limited`, `unauthorized`, `forbidden`, `unavailable`
   */
  admit(context: RequestContext, arrival: Arrival): Promise<Admitted["caller"]> | undefined {
    this.#overload.check();
    const { rpc, header } = arrival;
    const limit = limitOf(rpc);
    if (limit !== undefined) context.limits.spendFrom(limit);
    const access = accessOf(rpc);
    if (access === Access.OPERATOR) return this.#authentication.admitOperator(context, arrival);
    if (isPublicWrite(rpc)) checkSite(context, header);
    const key = this.#table.keys.shown(header("authorization"));
    if (access !== Access.PUBLIC) return this.#authentication.admitAgent(context, arrival, key);
    const visit = this.#visit(context, key, arrival);
    return isRegistration(rpc) ? this.#authentication.admitRegistration(context, arrival, visit) : visit;
  }

  /**
   * Admits a call within a request that `visit` has admitted: a message of MCP, whose call is known once its body is read.
   * The call does not spend again what the visit has spent.
   * @returns the caller; undefined of a public operation
   * @throws StoaError `rate_limited`, `unauthorized`, `forbidden`, `unavailable`
   */
  async admitVisited(context: RequestContext, arrival: Arrival): Promise<Admitted["caller"]> {
    const { rpc, header } = arrival;
    const limit = limitOf(rpc);
    if (limit !== undefined) context.limits.spendFrom(limit);
    if (accessOf(rpc) !== Access.PUBLIC) {
      const key = this.#table.keys.shown(header("authorization"));
      return this.#authentication.admitVisitingAgent(context, arrival, key);
    }
    if (isPublicWrite(rpc)) checkSite(context, header);
    if (isRegistration(rpc)) await this.#authentication.admitRegistration(context, arrival, undefined);
    return undefined;
  }

  #visit(context: RequestContext, key: ShownKey | undefined, call?: ShowingCall): Promise<undefined> | undefined {
    if (key === undefined) {
      context.limits.spendRead();
      return undefined;
    }
    const agent = this.#table.keys.agentOf(key);
    if (agent === undefined) return this.#visitWithUnknownKey(context, key, call);
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
 * Refuses a write without a key that a page of another site makes: it could write in the name of its visitor, from the
 * visitor's address.
 */
function checkSite({ limits }: RequestContext, header: Arrival["header"]): void {
  if (header("sec-fetch-site") !== "cross-site") return;
  limits.enforceRefusals();
  throw new StoaError("forbidden", "Pages of other sites may not do this.");
}

/**
 * Whether a request that did not become a call was refused for a fault of its own. An RPC that did not become a call was
 * refused.
 */
function isFaulty({ response, route }: RequestContext): boolean {
  const { statusCode } = response;
  if (!response.writableFinished || isReset(response) || statusCode === 429 || statusCode === 503) return false;
  // Connect answers a message that it cannot decode with 500 over HTTP/1.1, and over gRPC with 200 and a status in the
  // trailer.
  return route.limits === "rpc" || (statusCode >= 400 && statusCode < 500);
}

/** Whether an HTTP/2 client has reset the stream. Connect ends its response even then, so the response looks finished. */
function isReset({ stream }: HttpResponse): boolean {
  return stream !== undefined && stream.rstCode !== constants.NGHTTP2_NO_ERROR;
}
