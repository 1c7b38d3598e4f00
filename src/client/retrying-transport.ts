import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { idempotent_by_key } from "../../gen/stoa/v1/options_pb.js";
import { sleep, waitBefore } from "./backoff.ts";
import { fromTransport } from "./connect-error.ts";
import type { StoaError } from "./error.ts";

export interface RetryOptions {
  /** The most tries of a call; 1 means no retry. Default: 8, which takes about half a minute. */
  tries?: number | undefined;
  /** How long one try may take, in milliseconds. Default: 30 s. */
  tryTimeoutMs?: number | undefined;
  /** Called before each wait for a retry. */
  onRetry?: ((error: StoaError, waitMs: number) => void) | undefined;
}

/** The longest wait before a retry, in milliseconds. If the service asks for a longer one, the call fails. */
const longestWaitMs = 60_000;

/** The header by which a service recognises the repeat of a create, and sends the first reply again. */
export const idempotencyKeyHeader = "Idempotency-Key";

/** Whether the contract says that a repeated call does its work once: by its nature, or by its idempotency key. */
function isRepeatable(method: DescMethod): boolean {
  return method.idempotency !== Level.IDEMPOTENCY_UNKNOWN || getOption(method, idempotent_by_key);
}

/**
 * Creates a transport that repeats calls that may succeed later: the connection or the reply was lost, or the service
 * is away or asks to wait. All tries of a create have the same `Idempotency-Key`; the caller may set it. `timeoutMs` of
 * a call limits all its tries and waits together. Every failure is a StoaError, or the signal's reason when that
 * aborts. Streams are not repeated.
 */
export function createRetryingTransport(inner: Transport, headers: Headers, options: RetryOptions): Transport {
  const { tries = 8, tryTimeoutMs = 30_000, onRetry } = options;
  return {
    async unary(method, signal, timeoutMs, given, message, contextValues) {
      const end = timeoutMs === undefined || timeoutMs <= 0 ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
      const sent = merge(headers, given);
      if (getOption(method, idempotent_by_key) && !sent.has(idempotencyKeyHeader)) {
        sent.set(idempotencyKeyHeader, crypto.randomUUID());
      }
      for (let failures = 0; ; failures++) {
        signal?.throwIfAborted();
        // To Connect 0 means no limit, and its protocol counts whole milliseconds.
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

/** The headers of the caller replace those of the client. */
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
