import { ConnectError } from "@connectrpc/connect";
import type { Admitted } from "../../calls/call.ts";
import type { CallInit } from "../../calls/call-context.ts";
import { Checked } from "../../calls/checked.ts";
import { outcomeOf, toStoaError } from "../../calls/error-mapping.ts";
import { type Binding, isPublicRead, isTaggedRead } from "../../contract/bindings.ts";
import type { Captured } from "../../contract/path-template.ts";
import { RecentMap } from "../../rate-limits/recent-map.ts";
import { type ReadRequest, readRequest, splitTarget } from "../../transcoding/index.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";
import { headersOf } from "../requests/request-headers.ts";
import type { Answer, CheckedRead } from "./answer.ts";
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
  read?: CheckedRead;
}

/** How many addresses of a route are remembered. */
const capacity = 64;
/** Longer addresses are not remembered, in characters. */
const maxLength = 512;
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
  /** The addresses of public reads that were last asked for. */
  readonly #known = new RecentMap<string, Address>(capacity);

  constructor(all: readonly Endpoint[]) {
    this.#all = all;
  }

  /** @returns undefined where no endpoint has the verb of the address */
  find(url: string): Address | undefined {
    return this.#known.get(url) ?? this.#match(url);
  }

  /**
   * Makes the unary call of a request.
   * @param body undefined without one, and for a method that has none
   * @throws StoaError
   */
  async answer(
    context: RequestContext,
    caller: Admitted["caller"],
    address: Address,
    body?: Buffer,
  ): Promise<HttpReply> {
    const { binding, captured, query } = address;
    const answer = address.endpoint.answer as Answer;
    const known = body === undefined ? address.read : undefined;
    const read = known === undefined ? readRequest(binding, { captured, query, body }) : undefined;
    try {
      const reply = await answer(known ?? (read as ReadRequest), initOf(context, binding, caller), context);
      if (body === undefined && read !== undefined) this.#remember(context.url, address, read);
      return reply;
    } catch (error) {
      context.notes.outcome = outcomeOf(error);
      throw toThrown(error);
    }
  }

  /**
   * Makes the streaming call of a request. Resolves when the head of its reply is sent.
   * @param sent the body of the request, as `answer` takes it, and the header fields of the reply
   * @throws StoaError
   */
  async serveStream(
    context: RequestContext,
    caller: Admitted["caller"],
    { binding, captured, query, endpoint }: Address,
    { body, fields }: { body: Buffer | undefined; fields: Readonly<Record<string, string>> | undefined },
  ): Promise<undefined> {
    const { headers } = context.request;
    const asEvents = wantsEvents(headers.accept);
    const lastEventId = asEvents ? (headers["last-event-id"] as string | undefined) : undefined;
    const read = readRequest(binding, { captured, query, body, lastEventId });
    try {
      const serveStream = endpoint.serveStream as ServeStream;
      await serveStream(read, initOf(context, binding, caller), { context, asEvents, fields });
    } catch (error) {
      throw toThrown(error);
    }
  }

  /** Most callers ask for the same addresses again, and what an address says does not change. So it is read and checked once. */
  #remember(url: string, address: Address, { message, warnings }: ReadRequest): void {
    if (url.length > maxLength || !isTaggedRead(address.binding)) return;
    this.#known.set(url, { ...address, read: { warnings, message: new Checked(address.binding.rpc.input, message) } });
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
function initOf(context: RequestContext, { rpc }: Binding, caller: Admitted["caller"]): CallInit {
  const { method = "", headers } = context.request;
  return { method, url: context.url, headers: () => headersOf(headers), call: context.call(rpc, caller) };
}

/** The interceptors have logged what they throw, which is a Connect error. The edge logs everything else. */
function toThrown(error: unknown): unknown {
  return error instanceof ConnectError ? toStoaError(error) : error;
}
