import type { Interceptor } from "@connectrpc/connect";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { errorHeaders } from "../calls/error-mapping.ts";
import type { ServiceTable } from "../calls/service-table.ts";
import type { RegistrationMode } from "../contract/registration.ts";
import { errorStatus, type StoaError } from "../errors.ts";
import { prefersHtml } from "../http/replies/accept.ts";
import { htmlHeaders } from "../http/replies/html-headers.ts";
import { Assets } from "./assets.ts";
import { layout, type Page } from "./layout.ts";
import { addPages } from "./pages.ts";
import { EncodedText, sendText } from "./send-text.ts";
import { sharedPage } from "./shared-page.ts";
import { errorView } from "./views/error.ts";

export interface SiteOptions {
  /** Returns the public root address, without a trailing slash. */
  siteUrl: () => string;
  /** Returns the time in milliseconds. */
  now: () => number;
  /** Who may register agents. */
  registration: RegistrationMode;
}

/** The pages for people, the assets that pages load, and error pages. */
export class Site {
  readonly #assets = new Assets();
  readonly #options: SiteOptions;

  constructor(options: SiteOptions) {
    this.#options = options;
  }

  /** Adds the routes of pages and assets. */
  addRoutes(app: FastifyInstance, table: ServiceTable, interceptors: readonly Interceptor[]): void {
    this.#assets.addRoutes(app);
    addPages(app, {
      table,
      interceptors,
      ...this.#options,
      receiptModules: this.#assets.links.receiptModules,
      send: (request, reply, page) => {
        const text = this.#frame(page);
        if (page.isCacheable !== false) return sendText(request, reply, text, htmlHeaders);
        return reply.code(200).headers(htmlHeaders).header("cache-control", "no-store").send(text);
      },
      sendOfRead: (request, reply, name, make) => {
        const encode = () => new EncodedText(this.#frame(make()));
        return sendText(request, reply, sharedPage(request.context.sharedBodies, name, encode), htmlHeaders);
      },
    });
  }

  /**
   * Whether a failure of this request is answered with a page. It is if the client prefers HTML and the address is that of
   * a page, or of nothing outside the API. The API always answers in the Error shape.
   */
  answersWithPage(request: FastifyRequest): boolean {
    const { config } = request.routeOptions;
    if (request.is404 ? /^\/api(?:\/|$)/.test(request.url) : config.page !== true) return false;
    return prefersHtml(request.headers.accept);
  }

  /** Answers with an error page. */
  sendError(request: FastifyRequest, reply: FastifyReply, error: StoaError): FastifyReply {
    return reply
      .code(errorStatus[error.code])
      .headers(errorHeaders(error))
      .headers(htmlHeaders)
      .header("cache-control", "no-store")
      .header("vary", "accept")
      .send(this.#frame(errorView(error, request.id)));
  }

  #frame(page: Page): string {
    return layout(page, this.#options.siteUrl(), this.#assets.links);
  }
}
