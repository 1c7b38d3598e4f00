/** One thing to watch: `read` gives a sentence for the operator while it needs attention, else undefined. */
export interface WarningSource {
  /** In lower case with underscores: the label of the metric `stoa_warning`. */
  name: string;
  /** Must be cheap: it gives what is known, and may start a new look in the background. */
  read(): string | undefined;
}

/** What an operator should look at although the service serves: told by /readyz and by the metrics. */
export class Warnings {
  readonly #sources: WarningSource[] = [];

  /** Adds a source. Its text comes after those of the sources before it. */
  add(name: string, read: WarningSource["read"]): void {
    if (this.#sources.some((source) => source.name === name)) throw new Error(`There is a warning named ${name}.`);
    this.#sources.push({ name, read });
  }

  /** All that needs attention now, one sentence after another; undefined when nothing does. */
  get text(): string | undefined {
    const texts = this.#sources.map(({ read }) => read()).filter((text) => text !== undefined);
    return texts.length === 0 ? undefined : texts.join(" ");
  }

  /** 1 for each source that needs attention, 0 for each other. */
  get states(): ReadonlyMap<string, number> {
    return new Map(this.#sources.map(({ name, read }) => [name, read() === undefined ? 0 : 1]));
  }
}
