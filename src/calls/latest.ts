/** Remembers what was made of the latest key. Callers that have the same key one after the other share it. */
export class Latest<Key extends object, Value> {
  #key: Key | undefined;
  #value: Value | undefined;

  /** @returns what `make` made of this key, now or at the call before */
  get(key: Key, make: () => Value): Value {
    if (this.#key !== key) {
      this.#value = make();
      this.#key = key;
    }
    return this.#value as Value;
  }
}
