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
