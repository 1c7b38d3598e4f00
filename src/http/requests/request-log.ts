import type { FastifyBaseLogger } from "fastify";
import type { RequestContext } from "../../calls/context.ts";
import type { LogAddresses } from "../../config/config.ts";
import type { ErrorCode } from "../../errors.ts";
import { truncatedAddress } from "../admission/client-address.ts";

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

  /** To be called when a request arrives. */
  begin(context: RequestContext): void {
    const { request } = context;
    if (this.#isWritten && request.httpVersionMajor === 1) context.sentBefore = request.socket?.bytesWritten ?? 0;
  }

  /** Notes how many bytes were sent. Further requests on the connection count from then on. */
  noteSent(context: RequestContext): void {
    if (this.#isWritten) context.sent = bytesOf(context);
  }

  /** To be called when a reply is sent. */
  finished(context: RequestContext): void {
    // Over HTTP/2, Fastify also calls this for a request whose client has disconnected.
    if (!this.#isWritten || context.request.aborted) return;
    const { statusCode: status } = context.response;
    const ms = performance.now() - context.arrivedAt;
    context.log.info({ ...this.#describe(context), status, ms, bytes: context.sent ?? bytesOf(context) }, "request");
  }

  /** To be called when the client disconnects before it has its reply. The status is known if the reply has begun. */
  aborted(context: RequestContext): void {
    if (!this.#isWritten) return;
    const { headersSent, statusCode } = context.response;
    const status = headersSent ? statusCode : undefined;
    context.log.info(
      { ...this.#describe(context), status, bytes: context.sent ?? bytesOf(context) },
      "request aborted",
    );
  }

  /** To be called when a connection has sent what is not a request, and gets a reply even so. */
  unparsable(refusal: { reqId: string; status: number; code: ErrorCode }, peer: string | undefined): void {
    if (this.#isWritten) this.#log.info({ ...refusal, address: this.#addressOf(peer ?? "unknown") }, "request");
  }

  #describe(context: RequestContext): Record<string, unknown> {
    const { request, route, url, tool, outcome: code, limits } = context;
    const path = url.split("?", 1)[0] as string;
    return {
      method: request.method,
      route: route.path,
      // Left out where it is the same as the route.
      path: path === route.path ? undefined : cleaned(path),
      operation: (route.rpc ?? tool)?.name,
      code,
      traceId: context.traceId,
      limit: code === "rate_limited" ? (limits.refusedBy ?? "streams") : undefined,
      address: this.#addressOf(context.client.address),
      agent: context.agent,
      userAgent: cleaned(request.headers["user-agent"]),
    };
  }

  #addressOf(address: string): string | undefined {
    if (this.#addresses === "none") return undefined;
    return this.#addresses === "full" ? address : truncatedAddress(address);
  }
}

/** The size of a reply in bytes: over HTTP/1.1 with its head; over HTTP/2 without it, if its length was known beforehand. */
function bytesOf({ request, response, sentBefore }: RequestContext): number | undefined {
  const { socket } = request;
  if (request.httpVersionMajor === 1) return socket ? socket.bytesWritten - sentBefore : undefined;
  const length = response.getHeader("content-length");
  return length === undefined || request.aborted ? undefined : Number(length);
}

/** Shortens a client's text, and removes what could be the secret part of a key. */
function cleaned(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const short = text.length > maxText ? `${text.slice(0, maxText)}…` : text;
  return short.length < minSecret ? short : short.replace(secret, "…");
}
