import type { ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { createDeferred } from "../../timing/wait.ts";

const path = `/${Health.typeName}/${Health.method.watch.name}`;
/** How long a stop waits for the replies to end, in milliseconds. A watcher that reads nothing cannot delay it further. */
const timeoutMs = 500;

/** The open replies to clients that watch the service's health. */
export class WatchReplies {
  readonly #open = new Set<ServerResponse>();
  #lastEnded: (() => void) | undefined;

  /** Tracks the replies of this server. Create it before the routes. */
  constructor(app: FastifyInstance) {
    app.addHook("onRoute", (route) => {
      if (route.url !== path) return;
      route.onRequest = [
        route.onRequest ?? [],
        async (_request: unknown, { raw }: { raw: ServerResponse }) => this.#add(raw),
      ].flat();
    });
  }

  /** Resolves when the last open reply has been sent completely, or after `timeoutMs`. */
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
