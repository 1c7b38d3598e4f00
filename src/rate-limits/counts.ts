/** How many slots each holder has. A holder without slots takes no memory, and undefined holds none. */
export class Counts<Holder> {
  readonly #counts = new Map<Holder | undefined, number>();

  of(holder: Holder | undefined): number {
    return this.#counts.get(holder) ?? 0;
  }

  add(holder: Holder | undefined): void {
    if (holder === undefined) return;
    this.#counts.set(holder, this.of(holder) + 1);
  }

  remove(holder: Holder | undefined): void {
    const count = this.of(holder) - 1;
    if (count > 0) this.#counts.set(holder, count);
    else this.#counts.delete(holder);
  }
}
