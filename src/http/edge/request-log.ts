import type { FastifyBaseLogger } from "fastify";
import type { LogAddresses } from "../../config/config.ts";
import type { ErrorCode } from "../../errors.ts";
import { truncatedAddress } from "../admission/client-address.ts";
import type { RequestContext } from "../requests/context.ts";

/** How much is logged of a text that the client chooses, in characters. */
const maxText = 200;
/** Longer than any name. The random part of an API key has 43 characters, the idempotency key of a registration at least 32. */
const minSecret = 33;
const secret = new RegExp(`[\\w-]{${minSecret},}`, "g");

/** Logs one line for each request: enough to find out who abuses the service, but never a key, a body or a query string. */
export class RequestLog {
  readonly #log: FastifyBaseLogger;
  readonly #addresses: LogAddresses;
  /** Whether lines are written at all. This check is cheaper than a description of a request that nobody logs. */
  readonly #isWritten: boolean;

  constructor(log: FastifyBaseLogger, addresses: LogAddresses) {
    this.#log = log;
    this.#addresses = addresses;
    this.#isWritten =
      (log as FastifyBaseLogger & { isLevelEnabled?(level: string): boolean }).isLevelEnabled?.("info") ?? true;
  }

  /** To be called when a request arrives. @returns the bytes that its connection has sent before the response, over HTTP/1.1 */
  sentBefore({ request }: RequestContext): number {
    return this.#isWritten && request.httpVersionMajor === 1 ? (request.socket?.bytesWritten ?? 0) : 0;
  }

  /** To be called when a response is closed: further requests on the connection count from then on. @returns its bytes */
  bytesOf({ request, response }: RequestContext, sentBefore: number): number | undefined {
    if (!this.#isWritten) return undefined;
    // Over HTTP/1.1 with its head; over HTTP/2 without it, if its length was known beforehand.
    const { socket } = request;
    if (request.httpVersionMajor === 1) return socket ? socket.bytesWritten - sentBefore : undefined;
    const length = response.getHeader("content-length");
    return length === undefined || request.aborted ? undefined : Number(length);
  }

  /** To be called when a reply is sent. @param bytes of the reply, if they are known */
  finished(context: RequestContext, bytes: number | undefined): void {
    if (!this.#isWritten) return;
    const { statusCode: status } = context.response;
    const ms = performance.now() - context.arrivedAt;
    context.log.info({ ...this.#describe(context), status, ms, bytes }, "request");
  }

  /** To be called when the client disconnects before it has its reply. The status is known if the reply has begun. */
  aborted(context: RequestContext, bytes: number | undefined): void {
    if (!this.#isWritten) return;
    const { headersSent, statusCode } = context.response;
    const status = headersSent ? statusCode : undefined;
    context.log.info({ ...this.#describe(context), status, bytes }, "request aborted");
  }

  /** To be called when a connection that has no request gets a reply. */
  refused(refusal: { reqId: string; status: number; code: ErrorCode }, peer: string | undefined): void {
    if (this.#isWritten) this.#log.info({ ...refusal, address: this.#addressOf(peer ?? "unknown") }, "request");
  }

  #describe(context: RequestContext): Record<string, unknown> {
    const { request, route, url, limits } = context;
    const { tool, outcome: code, span, agent } = context.notes;
    const path = url.split("?", 1)[0] as string;
    return {
      method: request.method,
      route: route.path,
      // Left out where it is the same as the route.
      path: path === route.path ? undefined : cleaned(path),
      operation: (route.rpc ?? tool)?.name,
      code,
      traceId: span?.traceId,
      limit: code === "rate_limited" ? (limits.refusedBy ?? "streams") : undefined,
      address: this.#addressOf(context.client.address),
      agent,
      userAgent: cleaned(request.headers["user-agent"]),
    };
  }

  #addressOf(address: string): string | undefined {
    if (this.#addresses === "none") return undefined;
    return this.#addresses === "full" ? address : truncatedAddress(address);
  }
}

/** Shortens a client's text, and removes what could be the secret part of a key. */
function cleaned(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const short = text.length > maxText ? `${text.slice(0, maxText)}…` : text;
  return short.length < minSecret ? short : short.replace(secret, "…");
}
