import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { createDeferred } from "../../timing/wait.ts";
import type { RequestContext } from "../requests/context.ts";

/** How long a stop waits for the replies to end, in milliseconds. A watcher that reads nothing cannot delay it further. */
const timeoutMs = 500;

/** The open replies to clients that watch the service's health. */
export class WatchReplies {
  readonly #open = new Set<RequestContext>();
  #lastEnded: (() => void) | undefined;

  /** Follows a stream of an RPC, if it watches the health. */
  follow(context: RequestContext): void {
    if (context.route.rpc !== Health.method.watch) return;
    this.#open.add(context);
    context.onEnd(() => {
      this.#open.delete(context);
      if (this.#open.size === 0) this.#lastEnded?.();
    });
  }

  /** Resolves when the last open reply has been sent completely, or after `timeoutMs`. */
  async ended(): Promise<void> {
    if (this.#open.size === 0) return;
    const ended = createDeferred<void>({ ms: timeoutMs, onTimeout: ({ resolve }) => resolve() });
    this.#lastEnded = ended.resolve;
    await ended.promise;
  }
}
