import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound, type StoaError } from "../../errors.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route only answers that there is nothing at its address. */
    isNothing?: boolean;
  }
}

/** Which methods the routes of a server take. Routes are compared one by one, because only requests without a route ask. */
export class RouteMethods {
  readonly #routes: { path: RegExp; methods: string[]; isNothing: boolean }[] = [];

  /** Collects the routes that are added to the server from now on. */
  constructor(app: FastifyInstance) {
    app.addHook("onRoute", ({ url, method, config }) => {
      this.#routes.push({ path: toPattern(url), methods: [method].flat(), isNothing: config?.isNothing === true });
    });
  }

  /** The methods at an address, sorted; none if there is no such address. @param url may have a query */
  at(url: string): string[] {
    const [path = ""] = url.split("?", 1);
    const methods = new Set<string>();
    const missing = new Set<string>();
    for (const route of this.#routes) {
      if (!route.path.test(path)) continue;
      for (const method of route.methods) (route.isNothing ? missing : methods).add(method);
    }
    return [...methods.difference(missing)].sort();
  }
}

/**
 * The failure of a request whose address or method does not exist. If the address takes other methods, the message and the
 * header Allow name them.
 */
export function nothingHere(request: FastifyRequest, reply: FastifyReply, methods: readonly string[]): StoaError {
  if (methods.length === 0) return notFound("There is nothing at this address.");
  reply.header("allow", methods.join(", "));
  const taken = methods.filter((method) => method !== "HEAD" && method !== "OPTIONS");
  return notFound(`There is no ${request.method} here; this address accepts ${taken.join(" and ")}.`);
}

/** A route of Fastify's router as a pattern: `:name` is a segment, `*` the rest of the path, `::` a colon. */
function toPattern(route: string): RegExp {
  const segments = route.split("/").map((segment) => {
    if (/^:[^:]/.test(segment)) return "[^/]*";
    if (segment === "*") return ".*";
    return segment.replaceAll("::", ":").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${segments.join("/")}$`);
}
