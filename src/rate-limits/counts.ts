/** How many streams each holder has open. A holder without streams takes no memory. */
export class Counts<Holder> {
  readonly #counts = new Map<Holder, number>();

  /** How many holders have streams. */
  get size(): number {
    return this.#counts.size;
  }

  of(holder: Holder): number {
    return this.#counts.get(holder) ?? 0;
  }

  add(holder: Holder): void {
    this.#counts.set(holder, this.of(holder) + 1);
  }

  remove(holder: Holder): void {
    const count = this.of(holder) - 1;
    if (count > 0) this.#counts.set(holder, count);
    else this.#counts.delete(holder);
  }
}
