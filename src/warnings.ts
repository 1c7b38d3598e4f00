/** A source of warnings: `read` returns a sentence for the operator, or undefined while nothing is wrong. */
export interface WarningSource {
  /** In lower case with underscores: the label of the metric `stoa_warning`. */
  name: string;
  /** Must be cheap: it returns what is known, and may start a new check in the background. */
  read(): string | undefined;
}

/** The warnings for the operator while the service works. /readyz and the metrics show them. */
export class Warnings {
  readonly #sources: WarningSource[] = [];

  /** Adds a source. Its text comes after those of the sources before it. */
  add(name: string, read: WarningSource["read"]): void {
    if (this.#sources.some((source) => source.name === name)) throw new Error(`There is a warning named ${name}.`);
    this.#sources.push({ name, read });
  }

  /** All current warnings in one text; undefined when there are none. */
  get text(): string | undefined {
    return this.#sources.flatMap(({ read }) => read() ?? []).join(" ") || undefined;
  }

  /** For each source 1 while it warns, else 0. */
  get states(): ReadonlyMap<string, number> {
    return new Map(this.#sources.map(({ name, read }) => [name, read() === undefined ? 0 : 1]));
  }
}
