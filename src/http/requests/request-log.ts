import type { Socket } from "node:net";
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { LogAddresses } from "../../config/config.ts";
import { truncatedAddress } from "../admission/client-address.ts";

/** How much is logged of a text that the client chooses, in characters. */
const maxText = 200;
/** Longer than any name. The random part of an API key has 43 characters, the idempotency key of a registration at least 32. */
const minSecret = 33;
const secret = new RegExp(`[\\w-]{${minSecret},}`, "g");

/** Logs one line for each request: enough to find out who abuses the service, but never a key, a body or a query string. */
export class RequestLog {
  readonly #addresses: LogAddresses;
  /** Whether lines are written at all. This check is cheaper than a description of a request that nobody logs. */
  readonly #isWritten: boolean;

  /** To be created before the server's routes. */
  constructor(app: FastifyInstance, addresses: LogAddresses) {
    this.#addresses = addresses;
    const log = app.log as FastifyBaseLogger & { isLevelEnabled?(level: string): boolean };
    this.#isWritten = log.isLevelEnabled?.("info") ?? true;
    if (!this.#isWritten) return;
    app.addHook("onRequest", (request, _reply, done) => {
      if (request.raw.httpVersionMajor === 1) request.context.sentBefore = request.raw.socket.bytesWritten;
      done();
    });
  }

  /** To be called when a reply is sent. */
  finished(request: FastifyRequest, reply: FastifyReply): void {
    // Over HTTP/2, Fastify also calls this for a request whose client has disconnected.
    if (!this.#isWritten || request.raw.aborted) return;
    const { statusCode: status, elapsedTime: ms } = reply;
    request.log.info({ ...this.#describe(request), status, ms, bytes: bytesOf(request) }, "request");
  }

  /** To be called when the client disconnects before it has its reply. The status is known if the reply has begun. */
  aborted(request: FastifyRequest): void {
    if (!this.#isWritten) return;
    const { headersSent, statusCode } = request.context.response;
    const status = headersSent ? statusCode : undefined;
    request.log.info({ ...this.#describe(request), status, bytes: bytesOf(request) }, "request aborted");
  }

  #describe(request: FastifyRequest): Record<string, unknown> {
    const { context, raw, method, originalUrl } = request;
    const { url: route, config } = request.routeOptions;
    const path = originalUrl.split("?", 1)[0] as string;
    const code = context.outcome;
    return {
      method,
      route,
      // Left out where it is the same as the route.
      path: path === route ? undefined : cleaned(path),
      operation: (config.rpc ?? context.tool)?.name ?? (config.limits === "rpc" ? route?.split("/").at(-1) : undefined),
      code,
      traceId: context.traceId,
      limit: code === "rate_limited" ? (context.limits.refusedBy ?? "streams") : undefined,
      address: this.#addressOf(context.client.address),
      agent: context.agent,
      userAgent: cleaned(raw.headers["user-agent"]),
    };
  }

  #addressOf(address: string): string | undefined {
    if (this.#addresses === "none") return undefined;
    return this.#addresses === "full" ? address : truncatedAddress(address);
  }
}

/** The size of a reply in bytes: over HTTP/1.1 with its head; over HTTP/2 without it, if its length was known beforehand. */
function bytesOf({ raw, context }: FastifyRequest): number | undefined {
  // Node detaches the socket from some requests whose client has disconnected.
  const socket = raw.socket as Socket | null;
  if (raw.httpVersionMajor === 1) return socket === null ? undefined : socket.bytesWritten - context.sentBefore;
  const length = context.response.getHeader("content-length");
  return length === undefined || raw.aborted ? undefined : Number(length);
}

/** Shortens a client's text, and removes what could be the secret part of a key. */
function cleaned(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const short = text.length > maxText ? `${text.slice(0, maxText)}…` : text;
  return short.length < minSecret ? short : short.replace(secret, "…");
}
