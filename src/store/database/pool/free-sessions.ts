import type { Session } from "./session.ts";

/** The sessions of a pool that nobody uses. */
export class FreeSessions {
  /** The one that was used last is at the end. */
  readonly #sessions: Session[] = [];

  get size(): number {
    return this.#sessions.length;
  }

  add(session: Session): void {
    this.#sessions.push(session);
  }

  /** Takes the session that was used last, if possible one that need not change over to `autocommit`. */
  take(autocommit: boolean): Session | undefined {
    const index = this.#sessions.findLastIndex((session) => session.autocommit === autocommit);
    return index < 0 ? this.#sessions.pop() : this.#sessions.splice(index, 1)[0];
  }

  takeAll(): Session[] {
    return this.#sessions.splice(0);
  }

  /** Removes a session, if it is free. */
  remove(session: Session): void {
    const index = this.#sessions.indexOf(session);
    if (index >= 0) this.#sessions.splice(index, 1);
  }
}
