import { ConnectError } from "@connectrpc/connect";
import type { CallInit } from "../../calls/call-context.ts";
import type { RequestContext, Target } from "../../calls/context.ts";
import { toStoaError } from "../../calls/error-mapping.ts";
import { recordFailure } from "../../calls/outcome.ts";
import { headersOf } from "../../calls/request-headers.ts";
import { type Binding, isPublicRead } from "../../contract/bindings.ts";
import { type ReadRequest, readRequest, splitTarget } from "../../transcoding/index.ts";
import type { Answer, RestReply } from "./answer.ts";
import { RepeatedReads } from "./repeated-reads.ts";
import type { ServeStream } from "./serve-stream.ts";

/** A binding and what it takes to serve it: one of the two, by the kind of its RPC. */
export interface Endpoint {
  binding: Binding;
  answer: Answer | undefined;
  serveStream: ServeStream | undefined;
}

/** What the address of a request says: its endpoint and, once it has been read, its message. */
export interface Address extends Target {
  endpoint: Endpoint;
  read?: ReadRequest;
}

/** The header fields of a reply that a page of another origin may read, besides those that it always may. */
const exposedHeaders = "ETag, RateLimit, RateLimit-Policy, Retry-After, Stoa-Receipt, X-Request-Id";
/** The header fields by which pages of any origin may read a reply. */
export const openFields = { "access-control-allow-origin": "*", "access-control-expose-headers": exposedHeaders };
const noFields = {};

/** The header fields of all replies of a binding, also of failures. */
export function fieldsOf(binding: Binding): Readonly<Record<string, string>> {
  return isPublicRead(binding) ? openFields : noFields;
}

/** The endpoints of one route and method. They differ in their verbs. */
export class Endpoints {
  readonly all: readonly Endpoint[];
  readonly #reads = new RepeatedReads<Address>();

  constructor(all: readonly Endpoint[]) {
    this.all = all;
  }

  /** @returns undefined where no endpoint has the verb of the address */
  find(url: string): Address | undefined {
    return this.#reads.get(url) ?? this.#match(url);
  }

  /**
   * Makes the call of a request.
   * @param body undefined without one, and for a method that has none
   * @throws StoaError
   */
  async answer(context: RequestContext, address: Address, answer: Answer, body?: Buffer): Promise<RestReply> {
    const { binding, captured, query } = address;
    const known = body === undefined ? address.read : undefined;
    const read = known ?? readRequest(binding, { captured, query, body });
    try {
      const reply = await answer(read, initOf(context));
      if (body === undefined && known === undefined) this.#reads.remember(context.url, { ...address, read });
      return reply;
    } catch (error) {
      recordFailure(context, error);
      throw toThrown(error);
    }
  }

  #match(url: string): Address | undefined {
    const { path, query } = splitTarget(url);
    for (const endpoint of this.all) {
      const { binding } = endpoint;
      const captured = binding.path.match(path);
      if (captured !== undefined) return { endpoint, binding, captured, query };
    }
    return undefined;
  }
}

/** The call of a request of the facade. */
export function initOf(request: RequestContext): CallInit {
  const { method = "", headers } = request.request;
  return { method, url: request.url, headers: () => headersOf(headers), request };
}

/** The interceptors have logged what they throw, which is a Connect error. The caller logs everything else. */
export function toThrown(error: unknown): unknown {
  return error instanceof ConnectError ? toStoaError(error) : error;
}
