import type { InterceptorsOf, ServiceTable } from "../calls/service-table.ts";
import type { Shared } from "../calls/unary-call.ts";
import type { RegistrationMode } from "../contract/registration.ts";
import type { HttpReply } from "../http/replies/reply.ts";
import type { RequestContext } from "../http/requests/context.ts";
import type { BodyRenderer } from "./body-renderer.ts";
import type { CreateRead } from "./calls.ts";
import type { Page } from "./layout.ts";

export interface SiteOptions {
  /** The public root address, without a trailing slash. */
  siteUrl: string;
  /** Returns the time in milliseconds. */
  now: () => number;
  /** Who may register agents. */
  registration: RegistrationMode;
  /** Whether the board has a log now. */
  hasLog: () => boolean;
}

export interface PagesOptions extends SiteOptions {
  table: ServiceTable;
  interceptors: InterceptorsOf;
  /** The modules of a receipt's page. The last one imports the others. */
  receiptModules: readonly string[];
  /** The same for the page of a log entry. */
  logModules: readonly string[];
  show(request: RequestContext, page: Page): HttpReply;
  /**
   * A page that is made of one read alone. Requests that share the read share the page.
   * @param read its one read
   * @param name tells pages of the same read apart
   */
  showOfRead(request: RequestContext, read: Pick<Shared, "bodies">, name: string, make: () => Page): HttpReply;
}

/** What all pages need. */
export interface PageContext extends Omit<PagesOptions, "table" | "interceptors"> {
  read: CreateRead;
  bodies: BodyRenderer;
  /** Adds a page. Its failures are answered with pages, too. */
  add(url: string, serve: (request: RequestContext) => Promise<HttpReply>): void;
}
