import type { DescMethod } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { createTextLength } from "../contract/text-length.ts";
import { StoaError } from "../errors.ts";
import { createDeferred, type Deferred } from "../timing/wait.ts";
import type { ServiceTable } from "./service-table.ts";

/** How many reads of lists run at a time, as long as their replies are small. */
const maxRunning = 16;
/**
 * How many run at a time when large replies are being made. The rows and the reply of a complete feed take up to 15 MB
 * meanwhile, and the event loop is blocked while each is read and encoded: with several, other calls wait for all of them.
 */
const maxRunningLarge = 1;
/** A reply with so much text is large, in UTF-16 code units. */
const largeLength = 256 * 1024;
/** For how long a large reply lets others be expected, in milliseconds. */
const expectedMs = 5_000;
/** How many such reads may wait. */
const maxWaiting = 5_000;

/** Begins the time of a call and says how long it is, in milliseconds. */
type BeginCall = (signal: AbortSignal) => number;

/**
 * Lets a bounded number of large reads run at a time. Callers take turns, so that one who asks for very many replies makes
 * others wait for one read of his at most, not for all.
 */
export class LargeReads {
  #running = 0;
  #size = 0;
  /** Until when large replies are expected, by `performance.now()`. */
  #largeUntil = 0;
  /** The waiting reads of each caller; the caller whose turn is next comes first. */
  readonly #waiting = new Map<unknown, Set<Deferred<void>>>();
  readonly #beginCall: BeginCall;

  /** @param beginCall is called for a read that has to wait: waiting is part of its time */
  constructor(beginCall: BeginCall) {
    this.#beginCall = beginCall;
  }

  /**
   * Begins a read, at once where it returns undefined. `end` must follow.
   * @param caller an agent or an address: whoever shares turns
   * @throws the signal's reason when it aborts first; StoaError `unavailable` when too many wait, or its time is over
   */
  begin(caller: unknown, signal: AbortSignal): Promise<void> | undefined {
    if (this.#running < this.#limit()) {
      this.#running += 1;
      return undefined;
    }
    signal.throwIfAborted();
    if (this.#size >= maxWaiting) throw tooMany();
    return this.#wait(caller, signal);
  }

  /** Ends a read that has begun. @param length the text in its reply, in UTF-16 code units */
  end(length = 0): void {
    if (length > largeLength) this.#largeUntil = performance.now() + expectedMs;
    this.#running -= 1;
    while (this.#size > 0 && this.#running < this.#limit()) this.#beginNext();
  }

  #limit(): number {
    return this.#largeUntil > 0 && performance.now() < this.#largeUntil ? maxRunningLarge : maxRunning;
  }

  #beginNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#running += 1;
    const [caller, waiters] = next;
    const [waiter] = waiters;
    // The caller's next turn comes after those of all others.
    this.#waiting.delete(caller);
    if (waiters.size > 1) this.#waiting.set(caller, waiters);
    waiter?.resolve();
  }

  #wait(caller: unknown, signal: AbortSignal): Promise<void> {
    const waiters = this.#waiting.get(caller) ?? new Set();
    const turn = createDeferred<void>({
      signal,
      ms: this.#beginCall(signal),
      onTimeout: ({ reject }) => reject(tooMany()),
      onSettled: () => {
        this.#size -= 1;
        waiters.delete(turn);
        if (waiters.size === 0 && this.#waiting.get(caller) === waiters) this.#waiting.delete(caller);
      },
    });
    this.#size += 1;
    waiters.add(turn);
    if (!this.#waiting.has(caller)) this.#waiting.set(caller, waiters);
    return turn.promise;
  }
}

function tooMany(): StoaError {
  return new StoaError("unavailable", "Too many large replies are being made.", { retryAfterSeconds: 1 });
}

/** The interceptor that has the unary calls whose replies hold lists take turns. */
export function boundLargeReads(table: Pick<ServiceTable, "services" | "limitsKey" | "beginCall">): Interceptor {
  const { services, limitsKey } = table;
  const lengths = new Map(
    services
      .flatMap(({ service }) => service.methods)
      .filter(holdsList)
      .map((method) => [method, createTextLength(method.output)] as const),
  );
  const reads = new LargeReads((signal) => table.beginCall(signal));
  return (next) => async (request) => {
    const textLength = request.stream ? undefined : lengths.get(request.method);
    if (textLength === undefined) return next(request);
    const limits = request.contextValues.get(limitsKey);
    const turn = reads.begin(limits?.agent ?? limits?.address, request.signal);
    if (turn !== undefined) await turn;
    let length = 0;
    try {
      const response = await next(request);
      if (!response.stream) length = textLength(response.message);
      return response;
    } finally {
      reads.end(length);
    }
  };
}

function holdsList({ output }: DescMethod): boolean {
  return output.fields.some(({ fieldKind }) => fieldKind === "list");
}
