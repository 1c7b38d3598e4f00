import { StoaError } from "../errors.ts";

/** How many look-ups may wait; more are refused, so that a database that hangs does not fill the memory. */
const maxWaiting = 10_000;

/**
 * Looks up many keys at once. A key that is asked for while look-ups run waits and shares the next one. So at most
 * `concurrency` look-ups run at a time, and nobody waits for much longer than two of them take.
 */
export class Batch<Value> {
  readonly #find: (keys: string[]) => Promise<Value[]>;
  readonly #size: number;
  readonly #concurrency: number;
  #running = 0;
  /** The waiting keys in the order of their arrival. Several lookups of one key share an entry. */
  readonly #waiting = new Map<string, PromiseWithResolvers<Value>>();

  /** @param find gives the value of each key, in the same order; it gets at most `size` different keys */
  constructor(find: (keys: string[]) => Promise<Value[]>, limits: { size: number; concurrency: number }) {
    this.#find = find;
    this.#size = limits.size;
    this.#concurrency = limits.concurrency;
  }

  /** @throws what the look-up throws, or one that failed meanwhile; StoaError `unavailable` where too many wait */
  async find(key: string): Promise<Value> {
    let entry = this.#waiting.get(key);
    if (entry === undefined) {
      if (this.#waiting.size >= maxWaiting) {
        throw new StoaError("unavailable", "The database is slow just now.", { retryAfterSeconds: 1 });
      }
      entry = Promise.withResolvers<Value>();
      this.#waiting.set(key, entry);
      if (this.#running < this.#concurrency) void this.#run();
    }
    return entry.promise;
  }

  async #run(): Promise<void> {
    this.#running += 1;
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.entries().take(this.#size)];
      for (const [key] of batch) this.#waiting.delete(key);
      try {
        const values = await this.#find(batch.map(([key]) => key));
        for (const [index, [, entry]] of batch.entries()) entry.resolve(values[index] as Value);
      } catch (error) {
        for (const [, entry] of batch) entry.reject(error);
        // The other keys have waited for as long as this look-up hung. They do not wait for another one.
        for (const entry of this.#waiting.values()) entry.reject(error);
        this.#waiting.clear();
      }
    }
    this.#running -= 1;
  }
}
