import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { idempotent_by_key } from "../../gen/stoa/v1/options_pb.js";
import { sleep, waitBefore } from "./backoff.ts";
import { fromTransport } from "./connect-error.ts";
import type { StoaError } from "./error.ts";

export interface RetryOptions {
  /** How often a call is tried at most; 1 means once and not again. Default: 8, which takes about half a minute. */
  tries?: number | undefined;
  /** How long one try may take, in milliseconds. Default: 30 s. */
  tryTimeoutMs?: number | undefined;
  /** The longest wait, in milliseconds, that is waited out; where the service asks for more, the call fails. Default: 60 s. */
  longestWaitMs?: number | undefined;
  /** Told before each wait for another try. */
  onRetry?: ((error: StoaError, waitMs: number) => void) | undefined;
}

/** The header under which a service remembers a create, so that its repeat gets the first reply. */
export const idempotencyKeyHeader = "Idempotency-Key";

/** Whether a call may be made twice and do its work once: by its nature, or under a key. The contract says so. */
function isRepeatable(method: DescMethod): boolean {
  return method.idempotency !== Level.IDEMPOTENCY_UNKNOWN || getOption(method, idempotent_by_key);
}

/**
 * A transport that tries again what may pass: lost connections and replies, a service that is away or asks to wait. Creates
 * carry one `Idempotency-Key` over all tries of a call, unless the caller gives one. `timeoutMs` of a call bounds all its
 * tries and waits together. All failures are a StoaError, or the signal's reason when that aborts; streams are not repeated.
 */
export function createRetryingTransport(inner: Transport, headers: Headers, options: RetryOptions): Transport {
  const { tries = 8, tryTimeoutMs = 30_000, longestWaitMs = 60_000, onRetry } = options;
  return {
    async unary(method, signal, timeoutMs, given, message, contextValues) {
      const end = timeoutMs === undefined || timeoutMs <= 0 ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
      const sent = merge(headers, given);
      if (getOption(method, idempotent_by_key) && !sent.has(idempotencyKeyHeader)) {
        sent.set(idempotencyKeyHeader, crypto.randomUUID());
      }
      for (let failures = 0; ; failures++) {
        signal?.throwIfAborted();
        // Connect takes 0 for no limit, and the protocol whole milliseconds.
        const left = Math.max(1, Math.ceil(Math.min(tryTimeoutMs, end - performance.now())));
        try {
          return await inner.unary(method, signal, left, sent, message, contextValues);
        } catch (cause) {
          signal?.throwIfAborted();
          const error = fromTransport(cause);
          const waitMs = waitBefore(failures, error);
          const mayRepeat = error.code === "rate_limited" || (error.mayPass && isRepeatable(method));
          const isLast = failures + 1 >= tries || waitMs > longestWaitMs || performance.now() + waitMs >= end;
          if (isLast || !mayRepeat) throw error;
          onRetry?.(error, waitMs);
          await sleep(waitMs, signal);
        }
      }
    },
    async stream(method, signal, timeoutMs, given, messages, contextValues) {
      try {
        const response = await inner.stream(method, signal, timeoutMs, merge(headers, given), messages, contextValues);
        return { ...response, message: mapErrors(response.message, signal) };
      } catch (cause) {
        signal?.throwIfAborted();
        throw fromTransport(cause);
      }
    },
  };
}

/** What the caller gives comes before what the client has. */
function merge(headers: Headers, given: ConstructorParameters<typeof Headers>[0]): Headers {
  const merged = new Headers(headers);
  new Headers(given).forEach((value, name) => {
    merged.set(name, value);
  });
  return merged;
}

async function* mapErrors<T>(messages: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T, void> {
  try {
    yield* messages;
  } catch (cause) {
    signal?.throwIfAborted();
    throw fromTransport(cause);
  }
}
