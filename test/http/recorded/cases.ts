import type { Request } from "./exchange.ts";

/** A request that is recorded under its name. */
export interface Case extends Omit<Request, "headers"> {
  name: string;
  headers?: (readonly [string, string])[] | undefined;
  /** The agent whose key it shows; nobody's by default. */
  as?: string | undefined;
}
