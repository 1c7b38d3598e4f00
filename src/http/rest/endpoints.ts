import { ConnectError } from "@connectrpc/connect";
import type { CallInit } from "../../calls/call-context.ts";
import type { RequestContext } from "../../calls/context.ts";
import { toStoaError } from "../../calls/error-mapping.ts";
import { recordFailure } from "../../calls/outcome.ts";
import { headersOf } from "../../calls/request-headers.ts";
import { type Binding, isPublicRead } from "../../contract/bindings.ts";
import type { Captured } from "../../contract/path-template.ts";
import { type ReadRequest, readRequest, splitTarget } from "../../transcoding/index.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { Answer } from "./answer.ts";
import { RepeatedReads } from "./repeated-reads.ts";
import type { ServeStream } from "./serve-stream.ts";
import { wantsEvents } from "./stream.ts";

/** A binding and what makes its calls, by the kind of its RPC. */
export type Endpoint = { binding: Binding } & (
  | { answer: Answer; serveStream: undefined }
  | { answer: undefined; serveStream: ServeStream }
);

/** What the address of a request says: its endpoint, the parts of the address and, once it has been read, its message. */
export interface Address {
  endpoint: Endpoint;
  binding: Binding;
  captured: Captured[];
  query: string;
  read?: ReadRequest;
}

/** The header fields of a reply that a page of another origin may read, besides those that it always may. */
const exposedHeaders = "ETag, RateLimit, RateLimit-Policy, Retry-After, Stoa-Receipt, X-Request-Id";
/** The header fields by which pages of any origin may read a reply. */
export const openFields = { "access-control-allow-origin": "*", "access-control-expose-headers": exposedHeaders };

/** The header fields of all replies of a binding, also of failures; undefined if there are none. */
export function fieldsOf(binding: Binding): Readonly<Record<string, string>> | undefined {
  return isPublicRead(binding) ? openFields : undefined;
}

/** The endpoints of one route and method. They differ in their verbs. */
export class Endpoints {
  readonly #all: readonly Endpoint[];
  readonly #reads = new RepeatedReads<Address>();

  constructor(all: readonly Endpoint[]) {
    this.#all = all;
  }

  /** @returns undefined where no endpoint has the verb of the address */
  find(url: string): Address | undefined {
    return this.#reads.get(url) ?? this.#match(url);
  }

  /**
   * Makes the unary call of a request.
   * @param body undefined without one, and for a method that has none
   * @throws StoaError
   */
  async answer(context: RequestContext, address: Address, answer: Answer, body?: Buffer): Promise<HttpReply> {
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

  /**
   * Makes the streaming call of a request. Resolves when the head of its reply is sent.
   * @param fields of the reply
   * @throws StoaError
   */
  async serveStream(
    context: RequestContext,
    { binding, captured, query }: Address,
    serveStream: ServeStream,
    fields: Readonly<Record<string, string>> | undefined,
  ): Promise<undefined> {
    const { headers } = context.request;
    const asEvents = wantsEvents(headers.accept);
    const lastEventId = asEvents ? (headers["last-event-id"] as string | undefined) : undefined;
    const read = readRequest(binding, { captured, query, body: undefined, lastEventId });
    try {
      await serveStream(read, initOf(context), { asEvents, fields });
    } catch (error) {
      throw toThrown(error);
    }
  }

  #match(url: string): Address | undefined {
    const { path, query } = splitTarget(url);
    for (const endpoint of this.#all) {
      const { binding } = endpoint;
      const captured = binding.path.match(path);
      if (captured !== undefined) return { endpoint, binding, captured, query };
    }
    return undefined;
  }
}

/** The call of a request of the facade. */
function initOf(request: RequestContext): CallInit {
  const { method = "", headers } = request.request;
  return { method, url: request.url, headers: () => headersOf(headers), request };
}

/** The interceptors have logged what they throw, which is a Connect error. The edge logs everything else. */
function toThrown(error: unknown): unknown {
  return error instanceof ConnectError ? toStoaError(error) : error;
}
