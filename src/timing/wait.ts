// These functions wait for something that may come late or never. When a wait ends, in whatever way, it leaves no timer and no
// listener behind.

/** The longest delay that a timer accepts, in milliseconds. A longer one would fire at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** A promise that somebody else settles. Only the first outcome counts. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

export interface DeferredOptions<T> {
  /** When it aborts, the promise rejects with its reason. */
  signal?: AbortSignal | undefined;
  /** How long the promise may take, in milliseconds; without a limit by default. */
  ms?: number | undefined;
  /** Settles the promise when that time is over. Needed with `ms`. */
  onTimeout?: (deferred: Deferred<T>) => void;
  /** Called once, at the moment the promise is settled. */
  onSettled?: () => void;
}

/**
 * Makes a promise that ends at `resolve`, at `reject`, when `signal` aborts, or when `ms` are over, whatever comes first.
 * If the signal has aborted already, the promise is rejected when this returns, and `onSettled` has been called.
 */
export function createDeferred<T>(options: DeferredOptions<T>): Deferred<T> {
  const { signal, ms, onTimeout, onSettled } = options;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let timer: NodeJS.Timeout | undefined;
  let isSettled = false;
  const settle = () => {
    if (isSettled) return false;
    isSettled = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    onSettled?.();
    return true;
  };
  const deferred: Deferred<T> = {
    promise,
    resolve(value) {
      if (settle()) resolve(value);
    },
    reject(reason) {
      if (settle()) reject(reason);
    },
  };
  const abort = () => deferred.reject(signal?.reason);
  if (signal?.aborted) {
    abort();
    return deferred;
  }
  signal?.addEventListener("abort", abort);
  if (ms !== undefined) timer = setTimeout(() => onTimeout?.(deferred), Math.min(Math.max(ms, 0), maxTimerMs));
  return deferred;
}

/**
 * Follows a promise within the limits of `options`. The work behind the promise goes on when they end the wait; a failure
 * that comes after that is ignored.
 * @throws what the promise fails with; the signal's reason; what `onTimeout` rejects with
 */
export function waitFor<T>(promise: Promise<T>, options: DeferredOptions<T>): Promise<T> {
  const deferred = createDeferred<T>(options);
  promise.then(deferred.resolve, deferred.reject);
  return deferred.promise;
}

/**
 * @param signal ends the wait, too
 * @returns what the promise gives; undefined if it takes longer than `ms` milliseconds
 * @throws what the promise fails with; the signal's reason
 */
export function withTimeout<T>(promise: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | undefined> {
  return waitFor<T | undefined>(promise, { ms, signal, onTimeout: ({ resolve }) => resolve(undefined) });
}

/** @returns what the promise gives. @throws what the promise fails with; the signal's reason as soon as it aborts */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return waitFor(promise, { signal });
}

/** Resolves after `ms` milliseconds. @throws the signal's reason as soon as it aborts */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return createDeferred<void>({ ms, signal, onTimeout: ({ resolve }) => resolve() }).promise;
}
