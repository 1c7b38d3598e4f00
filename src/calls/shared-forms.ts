import { RecentMap } from "../rate-limits/recent-map.ts";

/** For how many bodies the forms are kept. Pages of a response differ from moment to moment, and so do replies with warnings. */
const bodyCapacity = 4;

/** What has been made of a shared response, such as its JSON. Each form is made once. */
export class SharedForms {
  readonly #forms = new Map<unknown, unknown>();
  #ofBodies: RecentMap<string | Buffer, SharedForms> | undefined;

  /**
   * The form of this name, which `make` makes for the first request that needs it. It is made anew if it could not be made.
   * @param name one of a few
   */
  get<T>(name: unknown, make: () => T): T {
    if (this.#forms.has(name)) return this.#forms.get(name) as T;
    const form = make();
    this.#forms.set(name, form);
    if (form instanceof Promise) form.catch(() => this.#forms.delete(name));
    return form;
  }

  /** What has been made of a body that was made of the response, such as its compressed bytes. */
  ofBody(body: string | Buffer): SharedForms {
    this.#ofBodies ??= new RecentMap(bodyCapacity);
    const known = this.#ofBodies.get(body);
    if (known !== undefined) return known;
    const forms = new SharedForms();
    this.#ofBodies.set(body, forms);
    return forms;
  }
}
