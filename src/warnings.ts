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
    return textOf(this.entries);
  }

  /** The name of each source, with its warning. */
  get entries(): [name: string, text: string | undefined][] {
    return this.#sources.map(({ name, read }) => [name, read()]);
  }

  /** For each source 1 while it warns, else 0. */
  get states(): ReadonlyMap<string, number> {
    return new Map(this.#sources.map(({ name, read }) => [name, read() === undefined ? 0 : 1]));
  }
}

/** The warnings of two processes in one text; undefined when there are none. Where both have one, `own` counts. */
export function mergedText(
  own: readonly (readonly [name: string, text: string | undefined])[],
  other: readonly (readonly [name: string, text: string | undefined])[],
): string | undefined {
  const merged = new Map(other);
  for (const [name, text] of own) if (text !== undefined) merged.set(name, text);
  return textOf([...merged]);
}

function textOf(entries: readonly (readonly [name: string, text: string | undefined])[]): string | undefined {
  const texts = entries.flatMap(([, text]) => text ?? []);
  return texts.length === 0 ? undefined : texts.join(" ");
}
