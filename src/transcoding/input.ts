import type { JsonValue } from "./json.ts";

/** Values from the path or the query: text that is still to be read as the type of its field. */
export class UrlText {
  readonly values: string[];

  constructor(values: string[]) {
    this.values = values;
  }
}

/** What a request holds: members of a JSON body, and texts of the path and the query. */
export type Input = Map<string, Input | UrlText | JsonValue>;
export type Node = Input | UrlText | JsonValue;
