import type { Interceptor } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ServiceTable } from "../calls/service-table.ts";
import type { BodyRenderer } from "./body-renderer.ts";
import type { CreateRead } from "./calls.ts";
import type { Page } from "./layout.ts";

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
export interface PageContext extends Omit<PagesOptions, "table" | "interceptors"> {
  read: CreateRead;
  bodies: BodyRenderer;
  /** Of the routes: their failures are pages as well. */
  config: { page: true };
}
