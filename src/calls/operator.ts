import { Right } from "../../gen/stoa/v1/options_pb.js";
import { forbidden } from "../errors.ts";

/** Whom a receipt names as its maker. */
export interface Actor {
  readonly agent: string;
  readonly seat: string;
}

/** What an operator's token allows. */
interface OperatorRights {
  /** The books whose sessions it seals; `all` for every book and the days. */
  readonly books: ReadonlySet<string> | "all";
  readonly mayModerate: boolean;
  readonly mayReadReports: boolean;
}

/** The caller that holds an operator's token: an internal service. */
export class Operator {
  /** Whom its receipts name; undefined for STOA_OPERATOR_TOKEN, with which each request says it. */
  readonly actor: Actor | undefined;
  readonly #rights: OperatorRights;

  constructor(rights: OperatorRights, actor?: Actor) {
    this.#rights = rights;
    this.actor = actor;
  }

  /** @throws StoaError `forbidden` */
  check(right: Right): void {
    const { books, mayModerate, mayReadReports } = this.#rights;
    const isGiven = {
      [Right.UNSPECIFIED]: false,
      [Right.SEAL]: books === "all" || books.size > 0,
      [Right.MODERATE]: mayModerate,
      [Right.READ_REPORTS]: mayReadReports,
    };
    if (!isGiven[right]) throw forbidden(`This token lacks the right to ${names[right]}.`);
  }

  /** @param book undefined for a day @throws StoaError `forbidden` */
  checkBook(book: string | undefined): void {
    const { books } = this.#rights;
    if (books === "all" || (book !== undefined && books.has(book))) return;
    throw forbidden(`This token lacks the right to seal ${book === undefined ? "days" : "sessions of this book"}.`);
  }
}

const names: Record<Right, string> = {
  [Right.UNSPECIFIED]: "make this call",
  [Right.SEAL]: "seal",
  [Right.MODERATE]: "moderate",
  [Right.READ_REPORTS]: "read reports",
};
