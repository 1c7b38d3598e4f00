import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext, Route } from "../requests/context.ts";

/** A reply; undefined where the route sends it itself, as streams and RPCs do. */
export type Answer = HttpReply | undefined;

/** What serves the requests of some methods at some addresses. Nothing else about a request chooses it. */
export interface ServedRoute extends Route {
  /**
   * Answers a request that has been admitted as its `limits` say.
   * @throws what `fail` answers
   */
  serve(this: void, context: RequestContext): Answer | Promise<Answer>;
  /** Answers a failed request; by default in the Error shape. */
  readonly fail?: (this: void, context: RequestContext, error: unknown) => Answer | Promise<Answer>;
}

/** A route as it is added: with the methods that it takes, and a pattern of addresses for Fastify's router. */
export interface RouteOptions extends ServedRoute {
  readonly methods: readonly string[];
  readonly url: string;
  /** Whether the route only answers that there is nothing at its address. */
  readonly isNothing?: boolean;
}
