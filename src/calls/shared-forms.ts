/** What has been made of a shared response, such as its JSON. Each form is made once. */
export class SharedForms {
  readonly #forms = new Map<unknown, unknown>();

  /** The form of this name, which `make` makes for the first request that needs it. */
  get<T>(name: unknown, make: () => T): T {
    if (!this.#forms.has(name)) this.#forms.set(name, make());
    return this.#forms.get(name) as T;
  }
}
