import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext, Route } from "../requests/context.ts";

/** A reply; undefined where the route sends it itself, as streams and RPCs do. */
export type Answer = HttpReply | undefined;

/** What serves the requests of some methods at some addresses. Nothing about a request chooses it but these two. */
export interface ServedRoute extends Route {
  readonly methods: readonly string[];
  /**
   * Answers a request that has been admitted as its `limits` say.
   * @throws what `fail` answers
   */
  serve(this: void, context: RequestContext): Answer | Promise<Answer>;
  /** Answers a failed request; by default in the Error shape. */
  readonly fail?: ((this: void, context: RequestContext, error: unknown) => Answer | Promise<Answer>) | undefined;
}

/** A route as it is added: with the methods that it takes, and a pattern of addresses for Fastify's router. */
export interface RouteOptions extends Pick<ServedRoute, "serve" | "fail" | "isPage">, Partial<Pick<Route, "rpc">> {
  methods: readonly string[];
  url: string;
  /** By default a body is dropped. */
  maxBody?: Route["maxBody"];
  /** By default, a request spends a read or its agent's call. */
  limits?: Route["limits"];
  /** Whether the route only answers that there is nothing at its address. */
  isNothing?: boolean;
}
