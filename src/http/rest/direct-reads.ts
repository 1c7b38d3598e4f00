import type { FastifyInstance } from "fastify";
import findMyWay from "find-my-way";
import type { RequestContext, Route } from "../../calls/context.ts";
import type { HttpRequest } from "../../calls/http-messages.ts";
import { recordFailure } from "../../calls/outcome.ts";
import type { Admission } from "../admission/admission.ts";
import { CallArrival } from "../admission/call-arrival.ts";
import type { CommonFields, DirectCall } from "../direct/direct-requests.ts";
import { toldFailure } from "../errors/failures.ts";
import type { Answer } from "./answer.ts";
import { type Address, type Endpoints, fieldsOf } from "./endpoints.ts";
import { sendDirectly, sendFailureDirectly } from "./send.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** What a route of the REST facade serves. */
    endpoints?: Endpoints;
  }
}

interface Found {
  route: Route;
  endpoints: Endpoints | undefined;
}

const noQuery = {};

/** Serves the unary reads of the facade beside Fastify. */
export class DirectReads {
  /** It has all routes that take a GET, also those of pages, so that it finds the same one as Fastify's own. */
  readonly #router: ReturnType<typeof findMyWay>;
  readonly #admission: Admission;
  readonly #commonFields: CommonFields;

  /**
   * Collects the routes that are added to the server from now on. Their configurations say what the routes are.
   * @param maxParamLength the longest part of an address, in characters, as Fastify's own router has it
   */
  constructor(app: FastifyInstance, { admission, commonFields, maxParamLength }: DirectReadsOptions) {
    this.#admission = admission;
    this.#commonFields = commonFields;
    this.#router = findMyWay({ maxParamLength, querystringParser: () => noQuery });
    app.addHook("onRoute", ({ method, url, config }) => {
      if (![method].flat().includes("GET")) return;
      this.#router.on("GET", url, () => {}, { route: config?.route, endpoints: config?.endpoints });
    });
  }

  readonly find = (request: HttpRequest): DirectCall | undefined => {
    const url = request.url as string;
    if (request.method !== "GET") return undefined;
    const { route, endpoints } = (this.#router.find("GET", url)?.store ?? {}) as Partial<Found>;
    const address = endpoints?.find(url);
    const answer = address?.endpoint.answer;
    if (route === undefined || endpoints === undefined || address === undefined || answer === undefined)
      return undefined;
    return { route, serve: (context) => this.#serve(context, endpoints, address, answer) };
  };

  async #serve(context: RequestContext, endpoints: Endpoints, address: Address, answer: Answer): Promise<void> {
    const { binding } = address;
    const common = Object.assign(this.#commonFields(context), fieldsOf(binding));
    try {
      const admitted = this.#admission.admit(context, new CallArrival(binding.rpc, context));
      if (admitted !== undefined) await admitted;
      await sendDirectly(context, await endpoints.answer(context, address, answer), common);
    } catch (error) {
      // The call has recorded its failure, before it was mapped.
      if (context.outcome === undefined) recordFailure(context, error);
      try {
        await sendFailureDirectly(context, toldFailure(error, context), common);
      } catch (failure) {
        context.log.error({ err: failure }, "a reply failed");
        context.response.destroy();
      }
    }
  }
}

export interface DirectReadsOptions {
  admission: Admission;
  commonFields: CommonFields;
  maxParamLength: number;
}
