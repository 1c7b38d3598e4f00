/** What can be in a list, at a place that the list notes. */
export interface Member {
  /** Negative while it is in no list. */
  place: number;
}

/**
 * A set of objects that soon leave it again, such as the streams of a connection. V8 allocates the tables of a Map or a Set
 * that has lived for a while in the old generation, again and again. They are freed by a major collection only, and until
 * then keep objects that have left the set.
 */
export class MemberList<Each extends Member> {
  readonly #members: Each[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: Each): void {
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** Does nothing if the object is not in the list. */
  delete(member: Each): void {
    const { place } = member;
    if (place < 0) return;
    member.place = -1;
    const last = this.#members.pop() as Each;
    if (last === member) return;
    this.#members[place] = last;
    last.place = place;
  }

  /** In no particular order. The list must not change meanwhile; see `all`. */
  [Symbol.iterator](): Iterator<Each> {
    return this.#members[Symbol.iterator]();
  }

  /** A copy of the list as it is now. */
  all(): Each[] {
    return [...this.#members];
  }
}
