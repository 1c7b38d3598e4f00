/** What has been made of a shared response, such as its JSON. Each form is made once. */
export class SharedForms {
  readonly #forms = new Map<unknown, unknown>();

  /** The form of this name. The first request that needs it makes it; if that fails, the next one does. */
  get<T>(name: unknown, make: () => T): T {
    if (this.#forms.has(name)) return this.#forms.get(name) as T;
    const form = make();
    this.#forms.set(name, form);
    if (form instanceof Promise) form.catch(() => this.#forms.delete(name));
    return form;
  }
}
