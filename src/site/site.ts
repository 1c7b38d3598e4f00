import { errorHeaders } from "../calls/error-mapping.ts";
import type { InterceptorsOf, ServiceTable } from "../calls/service-table.ts";
import { errorStatus, type StoaError } from "../errors.ts";
import type { Router } from "../http/edge/router.ts";
import { prefersHtml } from "../http/replies/accept.ts";
import { htmlHeaders } from "../http/replies/html-headers.ts";
import type { HttpReply } from "../http/replies/reply.ts";
import type { RequestContext } from "../http/requests/context.ts";
import { Assets } from "./assets.ts";
import { raw } from "./html.ts";
import { layout, type Page } from "./layout.ts";
import type { SiteOptions } from "./page-context.ts";
import { addPages } from "./pages.ts";
import { addSecurityText, type Security } from "./security-text.ts";
import { type EncodedText, encodeText, textReply } from "./text-reply.ts";
import { errorView } from "./views/error.ts";

/** How many pages of one read are kept for the requests that share it. Clients can spell one address in many ways. */
const maxPages = 8;

interface Options extends SiteOptions {
  /** Where vulnerabilities are reported; undefined if no setting says it. */
  security: Security | undefined;
}

/** The pages for people, the assets that pages load, and error pages. */
export class Site {
  readonly #assets = new Assets();
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Adds the routes of pages and assets. */
  addRoutes(router: Router, table: ServiceTable, interceptors: InterceptorsOf): void {
    this.#assets.addRoutes(router);
    const { security, siteUrl } = this.#options;
    if (security !== undefined) addSecurityText(router, security, siteUrl);
    addPages(router, {
      table,
      interceptors,
      ...this.#options,
      receiptModules: this.#assets.links.receiptModules,
      logModules: this.#assets.links.logModules,
      show: (request, page) => {
        const text = this.#frame(page);
        if (page.isCacheable !== false) return textReply(request, text, htmlHeaders);
        return { status: 200, fields: { ...htmlHeaders, "cache-control": "no-store" }, body: text };
      },
      showOfRead: (request, { bodies }, name, make) => {
        const pages = bodies?.get("pages", () => new Map<string, EncodedText>());
        let page = pages?.get(name);
        if (page === undefined) {
          page = encodeText(this.#frame(make()));
          if (pages !== undefined && pages.size < maxPages) pages.set(name, page);
        }
        return textReply(request, page, htmlHeaders);
      },
    });
  }

  /**
   * Whether a failure of this request is answered with a page. It is if the client prefers HTML and the address is that of
   * a page, or of nothing outside the API. The API always answers in the Error shape.
   */
  answersWithPage({ route, url, request }: RequestContext): boolean {
    if (route.url === undefined ? /^\/api(?:\/|$)/.test(url) : route.isPage !== true) return false;
    return prefersHtml(request.headers.accept);
  }

  errorPage({ id }: RequestContext, error: StoaError): HttpReply {
    const fields = { ...errorHeaders(error), ...htmlHeaders, "cache-control": "no-store", vary: "accept" };
    return { status: errorStatus[error.code], fields, body: this.#frame(errorView(error, id)) };
  }

  /** Puts the page that shows the API into the frame of all pages. @param parts trusted HTML */
  frameApi({
    head,
    main,
    ...page
  }: Pick<Page, "title" | "description" | "path"> & { head: string; main: string }): string {
    return this.#frame({ ...page, section: "api", head: raw(head), main: raw(main) });
  }

  #frame(page: Page): string {
    return layout(page, this.#options.siteUrl, this.#assets.links);
  }
}
