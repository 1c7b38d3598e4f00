import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { badInput } from "../../errors.ts";
import { RouteMethods } from "../errors/methods.ts";
import type { Edge } from "./edge.ts";
import { type AnswerAsRpc, createNotFound } from "./not-found.ts";
import type { RouteOptions, ServedRoute } from "./route.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    route?: ServedRoute;
  }
}

/** Refuses the requests that Fastify's router cannot read. */
const malformed: ServedRoute = {
  limits: "none",
  serve() {
    throw badInput(undefined, "The request is malformed.");
  },
};

/**
 * The addresses of the service, in Fastify's router. Fastify chooses the route of a request and hands it to the edge at once:
 * no hook but this one runs, and no handler of Fastify's.
 */
export class Router {
  readonly #methods = new RouteMethods();
  readonly #app: FastifyInstance;
  readonly #edge: Edge;
  /** Serves the requests that no route takes. */
  readonly #nothing: ServedRoute;

  constructor(app: FastifyInstance, edge: Edge, answerAsRpc: AnswerAsRpc) {
    this.#nothing = createNotFound(this.#methods, answerAsRpc);
    this.#app = app;
    this.#edge = edge;
    app.addHook("onRequest", (request, reply) => {
      const { originalUrl: url } = request;
      const { route = this.#nothing } = request.routeOptions.config;
      // Fastify lets a parameter be empty, such as the id in `/posts/`, and takes any first character for the slash.
      const isNothing = /^(?!\/|https?:\/\/)|[^/]\/(?:\?|$)/i.test(url) && this.#methods.at(url).length === 0;
      edge.serve({ request: request.raw, response: reply.raw, url, route: isNothing ? this.#nothing : route });
    });
    app.setErrorHandler((_error, request, reply) => this.refuse(request, reply));
  }

  /** Refuses a request whose method or address the router does not know. The requests of the edge never come here. */
  refuse(request: FastifyRequest, reply: FastifyReply): void {
    reply.hijack();
    this.#edge.serve({ request: request.raw, response: reply.raw, url: request.originalUrl, route: malformed });
  }

  /** Adds a route. */
  add(route: RouteOptions): void {
    const { url, methods, isNothing } = route;
    this.#methods.add(url, methods, isNothing);
    this.#app.route({ method: [...methods], url, exposeHeadRoute: false, config: { route }, handler: unreachable });
  }

  /** Adds a route for GET and HEAD. */
  get(url: string, options: Omit<RouteOptions, "url" | "methods">): void {
    this.add({ ...options, url, methods: ["GET", "HEAD"] });
  }
}

function unreachable(): never {
  throw new Error("The edge serves the requests of this route.");
}

/**
 * Makes an address that the router accepts. The router refuses a path with broken percent-encoding before any route is
 * known. The facade reads the original, and reports the fault in the field where it belongs.
 */
export function routable({ url = "/" }: { url?: string | undefined }): string {
  if (!url.includes("%")) return url;
  const [path = ""] = url.split("?", 1);
  try {
    decodeURI(path);
    return url;
  } catch {
    return path.replaceAll("%", "%25") + url.slice(path.length);
  }
}
