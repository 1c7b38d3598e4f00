/** A cache of values computed from texts. The least recently used value is removed first. */
export class TextCache<Value extends { readonly length: number }> {
  readonly #maxLength: number;
  readonly #values = new Map<string, Value>();
  #length = 0;

  /** @param maxLength the maximum number of characters in the cache, those of texts and of values together */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** The value of `text`. `make` is called if it is not in the cache. */
  get(text: string, make: () => Value): Value {
    const known = this.#values.get(text);
    if (known !== undefined) {
      // A Map keeps the order of insertion, so the value moves to the end.
      this.#values.delete(text);
      this.#values.set(text, known);
      return known;
    }
    const made = make();
    this.#values.set(text, made);
    this.#length += text.length + made.length;
    for (const [oldest, value] of this.#values) {
      if (this.#length <= this.#maxLength) break;
      this.#values.delete(oldest);
      this.#length -= oldest.length + value.length;
    }
    return made;
  }
}
