/** Items that wait, by party. Parties take turns, and the items of one are first come, first served. */
export class FairQueue<Item> {
  /** The party whose turn is next comes first. */
  readonly #parties = new Map<unknown, Set<Item>>();
  /** How many items wait, of all parties together. */
  size = 0;

  /** @param item that does not wait yet */
  add(party: unknown, item: Item): void {
    const items = this.#parties.get(party);
    if (items === undefined) this.#parties.set(party, new Set([item]));
    else items.add(item);
    this.size += 1;
  }

  /** How many items of a party wait. */
  sizeOf(party: unknown): number {
    return this.#parties.get(party)?.size ?? 0;
  }

  /** Removes the newest item of the party with the most. @returns undefined if no party has more than `count` */
  takeFromLargest(count: number): Item | undefined {
    const [largest] = [...this.#parties].toSorted(([, a], [, b]) => b.size - a.size);
    if (largest === undefined || largest[1].size <= count) return undefined;
    const [party, items] = largest;
    const newest = [...items].at(-1) as Item;
    this.delete(party, newest);
    return newest;
  }

  /** Removes an item, if it still waits. */
  delete(party: unknown, item: Item): void {
    const items = this.#parties.get(party);
    if (items?.delete(item) !== true) return;
    this.size -= 1;
    if (items.size === 0) this.#parties.delete(party);
  }

  /** The items that wait. Each may be removed meanwhile. */
  *[Symbol.iterator](): Generator<Item, void> {
    for (const items of this.#parties.values()) yield* items;
  }

  /** Removes the next item. Its party's next turn comes after those of all others. @returns undefined if none waits */
  take(): Item | undefined {
    const [first] = this.#parties;
    if (first === undefined) return undefined;
    const [party, items] = first;
    const [item] = items;
    this.#parties.delete(party);
    this.#parties.set(party, items);
    this.delete(party, item as Item);
    return item;
  }
}
