import http from "node:http";
import type { AddressInfo } from "node:net";
import type { FastifyBaseLogger } from "fastify";
import { toErrorBody } from "../calls/error-mapping.ts";
import type { MetricsConfig } from "../config/config.ts";
import { hostInUrl } from "../config/values.ts";
import { errorStatus, notFound, StoaError } from "../errors.ts";
import type { MetricsText } from "./metrics.ts";

/** Few clients ask, and a reply has some 20 KB. Slow clients are cut, and so are further ones. Times are in milliseconds. */
const timeoutMs = 5_000;
const maxConnections = 32;
const maxHeaderBytes = 8_192;

/** A listener for /metrics only, which is not reachable through the public port. */
export class MetricsListener {
  /** The address of the metrics, such as http://127.0.0.1:9464/metrics. */
  readonly url: string;
  readonly #server: http.Server;
  #metrics: MetricsText | undefined;

  /**
   * Starts to listen; `show` adds the metrics later. A default port that is in use is not an error, because two services may
   * run on one machine.
   * @returns undefined if no listener is configured, or the default port is in use
   * @throws Error with one line for the operator if it cannot listen for another reason
   */
  static async open({ host, port }: MetricsConfig, log: FastifyBaseLogger): Promise<MetricsListener | undefined> {
    if (port === undefined) return undefined;
    const server = http.createServer({
      headersTimeout: timeoutMs,
      requestTimeout: timeoutMs,
      keepAliveTimeout: timeoutMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: maxHeaderBytes,
    });
    server.maxConnections = maxConnections;
    // Ends a connection on which nothing moves, also one whose client reads no reply.
    server.setTimeout(2 * timeoutMs);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject).listen(port.number, host, resolve);
    try {
      await promise;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EADDRINUSE" && port.isDefault) {
        log.warn({ host, port: port.number }, "metrics are off because their port is in use; set STOA_METRICS_PORT");
        return undefined;
      }
      const where = `port ${port.number} of ${host}`;
      if (code === "EADDRINUSE")
        throw new Error(
          `${where} is in use by another program; stop it or set STOA_METRICS_PORT to another port or none`,
        );
      throw new Error(`${where} cannot be opened (${code}); set STOA_METRICS_HOST and STOA_METRICS_PORT`);
    }
    return new MetricsListener(server, host);
  }

  private constructor(server: http.Server, host: string) {
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.url = `http://${hostInUrl(host)}:${port}/metrics`;
    server.on("request", (request, response) => this.#answer(request, response));
  }

  /** Answers with these metrics from now on. */
  show(metrics: MetricsText): void {
    this.#metrics = metrics;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer({ method = "", url = "" }: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      if (!/^\/metrics(?:\?|$)/.test(url)) throw notFound("Only /metrics exists here.");
      if (method !== "GET" && method !== "HEAD") {
        response.setHeader("allow", "GET, HEAD");
        throw notFound(`There is no ${method} here; this address accepts GET.`);
      }
      if (this.#metrics === undefined) throw new StoaError("unavailable", "The service is starting.");
      const text = await this.#metrics.text();
      response.writeHead(200, { "content-type": this.#metrics.contentType, "cache-control": "no-store" });
      response.end(method === "HEAD" ? undefined : text);
    } catch (error) {
      const known = error instanceof StoaError ? error : new StoaError("internal", "The metrics cannot be read.");
      response.writeHead(errorStatus[known.code], { "content-type": "application/json; charset=utf-8" });
      response.end(toErrorBody(known));
    }
  }
}
