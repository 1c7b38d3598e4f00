import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { badInput } from "../../errors.ts";
import { RouteMethods } from "../errors/methods.ts";
import type { Edge } from "./edge.ts";
import { createNotFound } from "./not-found.ts";
import type { HandedOver, RouteOptions, ServedRoute } from "./route.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set for the requests that the handlers of a plugin serve. */
    handedOver: HandedOver | undefined;
  }
  interface FastifyContextConfig {
    route?: ServedRoute;
  }
}

/** Serves what no router takes. */
const malformed: ServedRoute = {
  path: undefined,
  methods: [],
  rpc: undefined,
  limits: "none",
  maxBody: 0,
  serve() {
    throw badInput(undefined, "The request is malformed.");
  },
};

/**
 * The addresses of the service, in Fastify's router. Fastify chooses the route of a request and hands it to the edge at once:
 * no hook but this one runs, and no handler but those of streamed RPCs.
 */
export class Router {
  readonly #methods = new RouteMethods();
  readonly #app: FastifyInstance;

  readonly #edge: Edge;
  /** Serves the requests that no route takes. */
  readonly #nothing = createNotFound(this.#methods);

  constructor(app: FastifyInstance, edge: Edge) {
    this.#app = app;
    this.#edge = edge;
    app.decorateRequest("handedOver", undefined);
    app.addHook("onRequest", (request, reply, done) => {
      const { route: atAddress } = request.routeOptions.config;
      // A plugin's routes take every method.
      const route = atAddress?.methods.includes(request.method) ? atAddress : undefined;
      const next = (handedOver: HandedOver) => {
        request.handedOver = handedOver;
        reply.headers(edge.fieldsOf(handedOver.context));
        done();
      };
      edge.serve(
        { request: request.raw, response: reply.raw, url: request.originalUrl, route: route ?? this.#nothing },
        next,
      );
    });
    app.setErrorHandler((_error, request, reply) => this.refuse(request, reply));
  }

  /** Refuses a request whose method or address the router does not know. The requests of the edge never come here. */
  refuse(request: FastifyRequest, reply: FastifyReply): void {
    reply.hijack();
    const arrived = { request: request.raw, response: reply.raw, url: request.originalUrl, route: malformed };
    this.#edge.serve(arrived, () => {});
  }

  /** Adds a route. */
  add(options: RouteOptions): void {
    const route = this.#describe(options);
    const { methods, url } = options;
    this.#app.route({ method: [...methods], url, exposeHeadRoute: false, config: { route }, handler: unreachable });
  }

  /** Adds a route for GET and HEAD. */
  get(url: string, options: Omit<RouteOptions, "url" | "methods">): void {
    this.add({ ...options, url, methods: ["GET", "HEAD"] });
  }

  /** Adds the routes of a plugin of Fastify, which has handlers of its own. */
  async register(plugin: (app: FastifyInstance) => Promise<void>, routes: readonly RouteOptions[]): Promise<void> {
    const byUrl = new Map(routes.map((options) => [options.url, this.#describe({ ...options, maxBody: undefined })]));
    await this.#app.register(async (scope) => {
      scope.addHook("onRoute", (added) => {
        const route = byUrl.get(added.url);
        if (route !== undefined) added.config = { ...added.config, route };
      });
      await plugin(scope);
    });
  }

  #describe({ url, isNothing, ...options }: RouteOptions): ServedRoute {
    this.#methods.add(url, options.methods, isNothing);
    return { maxBody: 0, rpc: undefined, limits: undefined, fail: undefined, ...options, path: url };
  }
}

function unreachable(): never {
  throw new Error("The edge serves the requests of this route.");
}
