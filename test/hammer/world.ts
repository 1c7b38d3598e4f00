import type { Acknowledged } from "./acknowledged.ts";
import type { Random } from "./random.ts";

/** What everybody has who acts on the replicas. */
export interface World {
  /** The addresses of the replicas that run. */
  urls: () => string[];
  random: Random;
  done: Acknowledged;
}
