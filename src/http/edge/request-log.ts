import type { FastifyBaseLogger } from "fastify";
import type { LogAddresses } from "../../config/config.ts";
import type { ErrorCode } from "../../errors.ts";
import { cleaned } from "../../tracing/client-text.ts";
import { truncatedAddress } from "../admission/client-address.ts";
import type { RequestContext } from "../requests/context.ts";

/** Logs one line for each request: enough to find out who abuses the service, but never a key, a body or a query string. */
export class RequestLog {
  readonly #log: FastifyBaseLogger;
  readonly #addresses: LogAddresses;
  /** Whether lines are written at all. This check is cheaper than a description of a request that nobody logs. */
  readonly isWritten: boolean;

  constructor(log: FastifyBaseLogger, addresses: LogAddresses) {
    this.#log = log;
    this.#addresses = addresses;
    this.isWritten =
      (log as FastifyBaseLogger & { isLevelEnabled?(level: string): boolean }).isLevelEnabled?.("info") ?? true;
  }

  /**
   * To be called when a reply is sent, or its client has disconnected.
   * @param isSent whether it was sent whole
   * @param bytes of the reply, if they are known
   */
  ended(context: RequestContext, isSent: boolean, bytes: number | undefined): void {
    const { headersSent, statusCode } = context.response;
    const ms = isSent ? performance.now() - context.arrivedAt : undefined;
    // The status is known if the reply has begun.
    const status = headersSent ? statusCode : undefined;
    context.log.info({ ...this.#describe(context), status, ms, bytes }, isSent ? "request" : "request aborted");
  }

  /** To be called when a connection that has no request gets a reply. */
  refused(refusal: { reqId: string; status: number; code: ErrorCode }, peer: string | undefined): void {
    if (this.isWritten) this.#log.info({ ...refusal, address: this.#addressOf(peer ?? "unknown") }, "request");
  }

  #describe(context: RequestContext): Record<string, unknown> {
    const { request, route, url, limits } = context;
    const { tool, outcome: code, span, agent } = context.notes;
    const path = url.split("?", 1)[0] as string;
    const { "user-agent": agentName } = request.headers;
    return {
      method: request.method,
      route: route.url,
      // Left out where it is the same as the route.
      path: path === route.url ? undefined : cleaned(path),
      operation: (route.rpc ?? tool)?.name,
      code,
      traceId: span?.traceId,
      limit: code === "rate_limited" ? (limits.refusedBy ?? "streams") : undefined,
      address: this.#addressOf(context.client.address),
      agent,
      userAgent: agentName === undefined ? undefined : cleaned(agentName),
    };
  }

  #addressOf(address: string): string | undefined {
    if (this.#addresses === "none") return undefined;
    return this.#addresses === "full" ? address : truncatedAddress(address);
  }
}

/** What a connection has sent, in bytes; undefined over HTTP/2, where replies share the connection. */
export function sentBytes({ request }: RequestContext): number | undefined {
  return request.httpVersionMajor === 1 ? request.socket?.bytesWritten : undefined;
}

/**
 * The bytes of a reply that is closed: over HTTP/1.1 with its head, over HTTP/2 without it, if its length was known beforehand.
 * @param before what `sentBytes` was when the request arrived
 */
export function bytesOf(context: RequestContext, before: number | undefined): number | undefined {
  const { request, response } = context;
  if (before !== undefined) return (sentBytes(context) ?? before) - before;
  const length = response.getHeader("content-length");
  return length === undefined || request.aborted ? undefined : Number(length);
}
