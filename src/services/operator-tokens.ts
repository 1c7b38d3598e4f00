import { Operator } from "../calls/operator.ts";
import { createSecretLookUp } from "../calls/secrets.ts";

/** A token as its operator has set it. */
export interface OperatorToken {
  name: string;
  token: string;
  seat: string;
  books: readonly string[] | "all";
  mayModerate: boolean;
  mayReadReports: boolean;
}

/** The tokens of internal services. */
export class OperatorTokens {
  readonly #single: string | undefined;
  #find: (shown: string) => Operator | undefined = () => undefined;

  /** @param single the token that allows everything */
  constructor(single: string | undefined, named: readonly OperatorToken[]) {
    this.#single = single;
    this.replace(named);
  }

  /** Gives each named token its rights from now on. Calls that have begun go on. */
  replace(named: readonly OperatorToken[]): void {
    const entries = named.map(({ name, token, seat, books, ...rights }): [string, Operator] => {
      const sealed = books === "all" ? books : new Set(books);
      return [token, new Operator({ ...rights, books: sealed }, { agent: name, seat })];
    });
    const everything = { books: "all", mayModerate: true, mayReadReports: true } as const;
    if (this.#single !== undefined) entries.push([this.#single, new Operator(everything)]);
    this.#find = createSecretLookUp(entries);
  }

  /** Who holds this token; undefined if it is none. */
  find(shown: string): Operator | undefined {
    return this.#find(shown);
  }
}
