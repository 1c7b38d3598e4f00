import type { Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { createTextLength } from "../contract/text-length.ts";
import { StoaError } from "../errors.ts";
import { FairQueue } from "../timing/fair-queue.ts";
import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { createDeferred, type Deferred } from "../timing/wait.ts";
import { callOf } from "./call.ts";
import type { InterceptorsOf, ServiceTable } from "./service-table.ts";

/**
 * How many reads of lists run at a time, as long as their replies are small. The rows and the reply of a complete feed take
 * up to 15 MB, and reading and encoding each blocks the event loop. So after a large reply only one read runs at a time, and
 * one more after each small reply.
 */
const maxRunning = 8;
/** A reply with more text in its lists is large, in UTF-16 code units. */
export const largeLength = 256 * 1024;
/** How many reads of lists may wait, of all callers together. */
const maxWaiting = 5_000;

/** Begins the time of a call and says how long it is, in milliseconds. */
type BeginCall = (signal: AbortSignal) => number;

/**
 * Lets a bounded number of large reads run at a time. Callers take turns, so a caller with very many requests delays others by
 * at most one of its reads.
 */
class LargeReads {
  #running = 0;
  /** How many may run now. */
  #limit = maxRunning;
  readonly #waiting = new FairQueue<Deferred<void>>();
  readonly #beginCall: BeginCall;

  /** @param beginCall is called for a read that has to wait: waiting is part of its time */
  constructor(beginCall: BeginCall) {
    this.#beginCall = beginCall;
  }

  /**
   * Begins a read, at once if it returns undefined. `end` must follow, unless this fails.
   * @param caller the agent or the address whose reads share turns
   * @param call its signal ends the wait
   * @throws the signal's reason when it aborts first; StoaError `unavailable` when too many wait, or its time is over
   */
  begin(caller: unknown, call: { readonly signal: AbortSignal }): Promise<void> | undefined {
    if (this.#running < this.#limit) {
      this.#running += 1;
      return undefined;
    }
    call.signal.throwIfAborted();
    if (this.#waiting.size >= maxWaiting) throw tooMany();
    return this.#wait(caller, call.signal);
  }

  /** Ends a read that has begun. @param length the text in its reply, in UTF-16 code units */
  end(length = 0): void {
    this.#limit = length > largeLength ? 1 : Math.min(this.#limit + 1, maxRunning);
    this.#running -= 1;
    while (this.#waiting.size > 0 && this.#running < this.#limit) {
      this.#running += 1;
      this.#waiting.take()?.resolve();
    }
  }

  #wait(caller: unknown, signal: AbortSignal): Promise<void> {
    const turn = createDeferred<void>({
      signal,
      ms: this.#beginCall(signal),
      onTimeout: ({ reject }) => reject(tooMany()),
      onSettled: () => this.#waiting.delete(caller, turn),
    });
    this.#waiting.add(caller, turn);
    return turn.promise;
  }
}

function tooMany(): StoaError {
  return new StoaError("unavailable", "Too many large replies are being made.", { retryAfterSeconds: 1 });
}

/** The interceptors by which unary calls whose replies hold lists take turns. The slow ones take turns among themselves. */
export function boundLargeReads({ slow, beginCall }: Pick<ServiceTable, "slow" | "beginCall">): InterceptorsOf {
  const reads = new LargeReads(beginCall);
  const slowReads = new LargeReads(beginCall);
  // Replies whose rows arrive together are not encoded together: between two of them, other calls go on.
  const encoding = new TurnScheduler(1);
  return (rpc) => {
    const textLength = rpc.methodKind === "unary" ? createTextLength(rpc.output) : undefined;
    if (textLength === undefined) return [];
    return [takeTurns({ reads, slowReads, isSlow: slow.get(rpc) }, textLength, encoding)];
  };
}

/** Where the reads of an RPC take turns. */
interface Turns {
  reads: LargeReads;
  slowReads: LargeReads;
  isSlow: ((request: Message) => boolean) | undefined;
}

function takeTurns(
  { reads, slowReads, isSlow }: Turns,
  textLength: (message: Message) => number,
  encoding: TurnScheduler,
): Interceptor {
  return (next) => async (request) => {
    const { agent, origin } = callOf(request.contextValues);
    const turns = !request.stream && isSlow?.(request.message) ? slowReads : reads;
    const turn = turns.begin(agent ?? origin.client.counted, request);
    if (turn !== undefined) await turn;
    let length = 0;
    try {
      const response = await next(request);
      if (!response.stream) length = textLength(response.message);
      if (length > largeLength) await encoding.next();
      return response;
    } finally {
      turns.end(length);
    }
  };
}
