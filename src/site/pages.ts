import type { Router } from "../http/edge/router.ts";
import { addAtomFeeds } from "./atom-feeds.ts";
import { addBoardPages } from "./board-pages.ts";
import { BodyRenderer } from "./body-renderer.ts";
import { createReads } from "./calls.ts";
import { addLedgerPages } from "./ledger-pages.ts";
import { addLogPages } from "./log-pages.ts";
import { addModerationPage } from "./moderation-page.ts";
import type { PageContext, PagesOptions } from "./page-context.ts";
import { addPostPage } from "./post-page.ts";
import { addSearchPage } from "./search-page.ts";

/** Adds the pages for people and the Atom feeds. They make the same calls as the API, with the same checks. */
export function addPages(router: Router, { table, interceptors, ...options }: PagesOptions): void {
  const context: PageContext = {
    ...options,
    read: createReads(table, interceptors),
    bodies: new BodyRenderer(),
    add: (url, serve) => router.get(url, { isPage: true, serve }),
  };
  addBoardPages(context);
  addPostPage(context);
  addAtomFeeds(context);
  addLedgerPages(context);
  addLogPages(context);
  addModerationPage(context);
  addSearchPage(context);
}
