import { createDeferred, type Deferred } from "../../timing/wait.ts";
import type { SignedTree } from "../folder/segments.ts";

/** A request that may wait for the log. */
export interface Waiter {
  /** Aborts when nobody waits for the reply any longer. */
  readonly signal: AbortSignal;
  /**
   * Takes a place among those who wait.
   * @returns a function that gives the place back
   * @throws StoaError `rate_limited`, `unavailable` if there is none
   */
  takePlace(): () => void;
}

/** The newest tree whose note this replica serves, and who waits for a larger one. */
export class PublishedTree {
  #tree: SignedTree | undefined;
  /** Those who wait, and the size that the tree must exceed for each. */
  readonly #waiting = new Map<Deferred<void>, number>();

  /** Undefined before the first tree. */
  get tree(): SignedTree | undefined {
    return this.#tree;
  }

  get size(): number {
    return this.#tree?.size ?? 0;
  }

  /** Publishes a tree if it is larger than the one before. */
  set(tree: SignedTree | undefined): void {
    if (tree === undefined || tree.size <= this.size) return;
    this.#tree = tree;
    for (const [waiting, size] of this.#waiting) if (size < tree.size) waiting.resolve();
  }

  /**
   * Waits until more than `size` entries are published.
   * @param ms how long, in milliseconds
   * @returns whether they are
   * @throws StoaError `rate_limited`, `unavailable` when too many wait; the signal's reason
   */
  async exceeds(size: number, ms: number, { signal, takePlace }: Waiter): Promise<boolean> {
    if (this.size > size) return true;
    signal.throwIfAborted();
    const leave = takePlace();
    const waiting: Deferred<void> = createDeferred<void>({
      signal,
      ms,
      onTimeout: ({ resolve }) => resolve(),
      onSettled: () => {
        this.#waiting.delete(waiting);
        leave();
      },
    });
    this.#waiting.set(waiting, size);
    await waiting.promise;
    return this.size > size;
  }
}
