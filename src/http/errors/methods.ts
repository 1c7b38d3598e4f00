import { notFound, StoaError } from "../../errors.ts";

/** Which methods the routes of a server take. Routes are compared one by one, because only requests without a route ask. */
export class RouteMethods {
  readonly #routes: { path: RegExp; methods: readonly string[]; isNothing: boolean }[] = [];

  /** @param isNothing whether the route only answers that there is nothing at its address */
  add(url: string, methods: readonly string[], isNothing = false): void {
    this.#routes.push({ path: toPattern(url), methods, isNothing });
  }

  /** The methods at an address, sorted; none if there is no such address. @param url may have a query */
  at(url: string): string[] {
    const [path = ""] = url.split("?", 1);
    const methods = new Set<string>();
    const missing = new Set<string>();
    for (const route of this.#routes.filter((each) => each.path.test(path))) {
      for (const method of route.methods) (route.isNothing ? missing : methods).add(method);
    }
    return [...methods.difference(missing)].sort();
  }
}

/** The failure of a request whose address or method does not exist. It names the methods that the address takes, if any. */
export function nothingHere(method: string | undefined, methods: readonly string[]): StoaError {
  if (methods.length === 0) return notFound("There is nothing at this address.");
  const taken = methods.filter((each) => each !== "HEAD" && each !== "OPTIONS");
  return new StoaError("not_found", `There is no ${method} here; this address accepts ${taken.join(" and ")}.`, {
    methods,
  });
}

/** A route of Fastify's router as a pattern: `:name` is a segment, `*` the rest of the path, `::` a colon. */
function toPattern(route: string): RegExp {
  const segments = route.split("/").map((segment) => {
    if (/^:[^:]/.test(segment)) return "[^/]+";
    if (segment === "*") return ".+";
    return segment.replaceAll("::", ":").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${segments.join("/")}$`);
}
