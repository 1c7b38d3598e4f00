/** The names that are kept. */
const maxNames = 10_000;

/**
 * The ids of communities by their names, as this process has seen them. A community keeps both, so they are right until the
 * database is replaced. Whoever uses an id has the database check it.
 */
export class CommunityIds {
  readonly #ids = new Map<string, number>();

  get(name: string): number | undefined {
    return this.#ids.get(name);
  }

  put(name: string, id: number): void {
    if (this.#ids.size >= maxNames) this.#ids.clear();
    this.#ids.set(name, id);
  }

  forget(name: string): void {
    this.#ids.delete(name);
  }
}
