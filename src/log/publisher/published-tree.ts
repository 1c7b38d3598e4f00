import { StoaError } from "../../errors.ts";
import { createDeferred, type Deferred } from "../../timing/wait.ts";
import type { SignedTree } from "../folder/segments.ts";

/** How many requests may wait for a larger tree. */
const maxWaiting = 1_024;

/** The newest tree whose note this replica serves, and who waits for a larger one. */
export class PublishedTree {
  #tree: SignedTree | undefined;
  /** Those who wait, and the size that they want exceeded. */
  readonly #waiting = new Map<Deferred<void>, number>();

  /** Undefined before the first. */
  get tree(): SignedTree | undefined {
    return this.#tree;
  }

  get size(): number {
    return this.#tree?.size ?? 0;
  }

  /** Publishes a tree, unless it is not larger than the one before. */
  set(tree: SignedTree | undefined): void {
    if (tree === undefined || tree.size <= this.size) return;
    this.#tree = tree;
    for (const [waiting, size] of this.#waiting) if (size < tree.size) waiting.resolve();
  }

  /**
   * Waits until more than `size` entries are published.
   * @param ms how long, in milliseconds
   * @returns whether they are
   * @throws StoaError `unavailable` when too many wait; the signal's reason
   */
  async exceeds(size: number, ms: number, signal: AbortSignal): Promise<boolean> {
    if (this.size > size) return true;
    signal.throwIfAborted();
    if (this.#waiting.size >= maxWaiting) {
      throw new StoaError("unavailable", "Too many requests wait for the log.", { retryAfterSeconds: 1 });
    }
    const waiting: Deferred<void> = createDeferred<void>({
      signal,
      ms,
      onTimeout: ({ resolve }) => resolve(),
      onSettled: () => this.#waiting.delete(waiting),
    });
    this.#waiting.set(waiting, size);
    await waiting.promise;
    return this.size > size;
  }
}
