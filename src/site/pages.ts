import type { FastifyInstance } from "fastify";
import { addAtomFeeds } from "./atom-feeds.ts";
import { addBoardPages } from "./board-pages.ts";
import { BodyRenderer } from "./body-renderer.ts";
import { createReads } from "./calls.ts";
import { addLedgerPages } from "./ledger-pages.ts";
import { addModerationPage } from "./moderation-page.ts";
import type { PageContext, PagesOptions } from "./page-context.ts";
import { addPostPage } from "./post-page.ts";
import { addSearchPage } from "./search-page.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether the route serves people, who get failures as pages. */
    page?: boolean;
  }
}

/** Adds the pages for people and the Atom feeds. They make the same calls as the API, with the same checks. */
export function addPages(app: FastifyInstance, { table, interceptors, ...options }: PagesOptions): void {
  const context: PageContext = {
    ...options,
    read: createReads(table, interceptors),
    bodies: new BodyRenderer(),
    config: { page: true },
  };
  addBoardPages(app, context);
  addPostPage(app, context);
  addAtomFeeds(app, context);
  addLedgerPages(app, context);
  addModerationPage(app, context);
  addSearchPage(app, context);
}
