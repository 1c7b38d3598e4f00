import type { DescMethod } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { StoaError } from "../errors.ts";
import type { ServiceTable } from "./services.ts";

/**
 * How many reads with replies that may be large run at a time. The rows and the reply of a complete feed take up to 15 MB
 * while it is made. More at once would not be faster: they wait for the same database and the same thread.
 */
const maxRunning = 8;
/** How many such reads may wait, and for how long, in milliseconds; then they are refused. */
const maxWaiting = 5_000;
const maxWaitMs = 10_000;

interface Waiter {
  /** Lets the read begin. */
  begin(): void;
}

/**
 * Lets a bounded number of large reads run at a time. Callers take turns, so that one who asks for very many replies makes
 * others wait for one read of his at most, not for all.
 */
export class LargeReads {
  #running = 0;
  #size = 0;
  /** The waiting reads of each caller; the caller whose turn is next comes first. */
  readonly #waiting = new Map<unknown, Set<Waiter>>();

  /**
   * Begins a read, at once where it returns undefined. `end` must follow.
   * @param caller an agent or an address: whoever shares turns
   * @throws the signal's reason when it aborts first; StoaError `unavailable` when too many wait, or for too long
   */
  begin(caller: unknown, signal: AbortSignal): Promise<void> | undefined {
    if (this.#running < maxRunning) {
      this.#running += 1;
      return undefined;
    }
    signal.throwIfAborted();
    if (this.#size >= maxWaiting) throw tooMany();
    return this.#wait(caller, signal);
  }

  /** Ends a read that has begun. */
  end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [caller, waiters] = next;
    const [waiter] = waiters;
    // The caller's next turn comes after those of all others.
    this.#waiting.delete(caller);
    if (waiters.size > 1) this.#waiting.set(caller, waiters);
    waiter?.begin();
  }

  #wait(caller: unknown, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiters = this.#waiting.get(caller) ?? new Set();
    const leave = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      this.#size -= 1;
      waiters.delete(waiter);
      if (waiters.size === 0 && this.#waiting.get(caller) === waiters) this.#waiting.delete(caller);
    };
    const abort = () => {
      leave();
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      leave();
      reject(tooMany());
    }, maxWaitMs);
    const waiter: Waiter = {
      begin() {
        leave();
        resolve();
      },
    };
    signal.addEventListener("abort", abort);
    this.#size += 1;
    waiters.add(waiter);
    if (!this.#waiting.has(caller)) this.#waiting.set(caller, waiters);
    return promise;
  }
}

function tooMany(): StoaError {
  return new StoaError("unavailable", "Too many large replies are being made.", { retryAfterSeconds: 1 });
}

/** The interceptor that has the unary calls whose replies hold lists take turns. */
export function boundLargeReads({ services, limitsKey }: Pick<ServiceTable, "services" | "limitsKey">): Interceptor {
  const large = new Set(services.flatMap(({ service }) => service.methods).filter(holdsList));
  const reads = new LargeReads();
  return (next) => async (request) => {
    if (request.stream || !large.has(request.method)) return next(request);
    const limits = request.contextValues.get(limitsKey);
    const turn = reads.begin(limits?.agent ?? limits?.address, request.signal);
    if (turn !== undefined) await turn;
    try {
      return await next(request);
    } finally {
      reads.end();
    }
  };
}

function holdsList({ output }: DescMethod): boolean {
  return output.fields.some(({ fieldKind }) => fieldKind === "list");
}
