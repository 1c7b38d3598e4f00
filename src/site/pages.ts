import type { Interceptor } from "@connectrpc/connect";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ServiceTable } from "../calls/service-table.ts";
import { addAtomFeeds } from "./atom-feeds.ts";
import { addBoardPages } from "./board-pages.ts";
import { Bodies } from "./bodies.ts";
import { createReaders, type Readers } from "./calls.ts";
import type { Page } from "./layout.ts";
import { addLedgerPages } from "./ledger-pages.ts";
import { addPostPage } from "./post-page.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether what the route answers is for people. */
    page?: boolean;
  }
}

export interface PagesOptions {
  table: ServiceTable;
  interceptors: readonly Interceptor[];
  /** Gives the public root address, without a slash at its end. */
  siteUrl: () => string;
  /** The time in milliseconds. */
  now: () => number;
  /** The modules of a receipt's page; the last one imports the others. */
  receiptModules: readonly string[];
  send(request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply;
}

/** What every page is made with. */
export interface PageContext extends Omit<PagesOptions, "table" | "interceptors">, Readers {
  bodies: Bodies;
  /** Of the routes: their failures are pages as well. */
  config: { page: true };
}

/** The pages that people read, and the feeds. Each is made of the same calls that the API answers, with the same checks. */
export function addPages(app: FastifyInstance, { table, interceptors, ...options }: PagesOptions): void {
  const context: PageContext = {
    ...options,
    ...createReaders(table, interceptors),
    bodies: new Bodies(),
    config: { page: true },
  };
  addBoardPages(app, context);
  addPostPage(app, context);
  addAtomFeeds(app, context);
  addLedgerPages(app, context);
}
