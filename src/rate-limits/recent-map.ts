/**
 * A map of at most `capacity` entries. It forgets the entries that were unused longest, half of them at a time: a look-up
 * costs one or two look-ups of a Map, and nothing has to be swept.
 */
export class RecentMap<Key, Value> {
  readonly #half: number;
  #recent = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  constructor(capacity: number) {
    this.#half = Math.max(1, Math.floor(capacity / 2));
  }

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#recent.get(key);
    if (value !== undefined) return value;
    const older = this.#older.get(key);
    if (older !== undefined) {
      this.#older.delete(key);
      this.set(key, older);
    }
    return older;
  }

  delete(key: Key): void {
    this.#recent.delete(key);
    this.#older.delete(key);
  }

  /** `value` is not undefined. */
  set(key: Key, value: Value): void {
    if (this.#recent.size >= this.#half && !this.#recent.has(key)) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, value);
  }
}
