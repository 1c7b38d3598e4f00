import type { JsonValue } from "./json.ts";

/** Values from the path or the query. The type of the field decides how the text is read. */
export class UrlText {
  readonly values: string[];

  constructor(values: string[]) {
    this.values = values;
  }
}

/** The input of a request: the members of its JSON body, and the texts of its path and query. */
export type Input = Map<string, Input | UrlText | JsonValue>;
export type Node = Input | UrlText | JsonValue;

/**
 * Sets the text of the field at a path of names. If the body has something else where an object is needed, this does
 * nothing, and `decodeMessage` refuses the body later.
 */
export function putText(input: Input, names: string[], value: UrlText): void {
  let target = input;
  for (const name of names.slice(0, -1)) {
    const next = target.get(name) ?? new Map();
    if (!(next instanceof Map)) return;
    target.set(name, next);
    target = next as Input;
  }
  target.set(names.at(-1) as string, value);
}
