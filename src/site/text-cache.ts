/** What was made of a text, remembered while it is in use. The longest unused goes first. */
export class TextCache<Made extends { readonly length: number }> {
  readonly #maxLength: number;
  readonly #made = new Map<string, Made>();
  #length = 0;

  /** @param maxLength how many characters are kept in all, of the texts and of what was made of them */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** What was made of `text`; `make` is called where that is not remembered. */
  get(text: string, make: () => Made): Made {
    const known = this.#made.get(text);
    if (known !== undefined) {
      // A Map keeps the order of insertion: what was used last moves to the end.
      this.#made.delete(text);
      this.#made.set(text, known);
      return known;
    }
    const made = make();
    this.#made.set(text, made);
    this.#length += text.length + made.length;
    for (const [oldest, value] of this.#made) {
      if (this.#length <= this.#maxLength) break;
      this.#made.delete(oldest);
      this.#length -= oldest.length + value.length;
    }
    return made;
  }
}
