import type { ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { createDeferred } from "../../timing/wait.ts";

const path = `/${Health.typeName}/${Health.method.watch.name}`;
/** How long a stop waits for them to end, in milliseconds: a watcher that reads nothing does not hold it up. */
const timeoutMs = 500;

/** The replies to those who watch the service's health, as far as they are still going out. */
export class WatchReplies {
  readonly #open = new Set<ServerResponse>();
  #lastEnded: (() => void) | undefined;

  /** Follows the replies of this server; to be made before its routes. */
  constructor(app: FastifyInstance) {
    app.addHook("onRoute", (route) => {
      if (route.url !== path) return;
      route.onRequest = [
        route.onRequest ?? [],
        async (_request: unknown, { raw }: { raw: ServerResponse }) => this.#add(raw),
      ].flat();
    });
  }

  /** Resolves when the last of them is on the wire to its end, soon at the latest. */
  async ended(): Promise<void> {
    if (this.#open.size === 0) return;
    const ended = createDeferred<void>({ ms: timeoutMs, onTimeout: ({ resolve }) => resolve() });
    this.#lastEnded = ended.resolve;
    await ended.promise;
  }

  #add(response: ServerResponse): void {
    this.#open.add(response);
    response.once("close", () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#lastEnded?.();
    });
  }
}
