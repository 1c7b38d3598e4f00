import { readPrivateFile } from "../process/read-file.ts";
import { parseToken } from "./values.ts";

/** An operator token of an internal service, and what it allows. */
export interface NamedToken {
  /** The agent that the service's receipts name. */
  name: string;
  token: string;
  seat: string;
  /** The books whose sessions it may seal; `all` means every book, and the days. */
  books: string[] | "all";
  mayModerate: boolean;
  mayReadReports: boolean;
}

/** The token of each call is compared with all tokens. */
const maxTokens = 100;
const members = new Set(["name", "token", "seat", "rights"]);
const nameForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/**
 * Reads the file that STOA_OPERATOR_TOKENS_FILE names: a list of `{"name", "token", "rights", "seat"}` in JSON.
 * @param others the tokens of other settings, which the file must not hold
 * @throws Error whose message follows the name of the setting, and holds no token
 */
export function readOperatorTokens(path: string, others: readonly (string | undefined)[]): NamedToken[] {
  let list: unknown;
  const text = readPrivateFile(path);
  try {
    list = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may be a token.
    throw new Error("names a file that is not JSON");
  }
  if (!Array.isArray(list) || list.length > maxTokens) {
    throw new Error(`names a file that is not a list of at most ${maxTokens} tokens`);
  }
  const tokens = list.map((entry, index) => {
    try {
      return readEntry(entry);
    } catch (error) {
      throw new Error(`names a file whose entry ${index + 1} ${(error as Error).message}`);
    }
  });
  for (const member of ["name", "token"] as const) {
    if (new Set(tokens.map((each) => each[member])).size < tokens.length) {
      throw new Error(`names a file in which two entries have the same ${member}`);
    }
  }
  if (tokens.some(({ token }) => others.includes(token))) {
    throw new Error("names a file that holds STOA_OPERATOR_TOKEN or STOA_REGISTRATION_TOKEN");
  }
  return tokens;
}

function readEntry(entry: unknown): NamedToken {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) throw new Error("is not an object");
  if (!Object.keys(entry).every((name) => members.has(name))) {
    throw new Error("has other members than name, token, rights and seat");
  }
  const { name, token, seat = "desk", rights } = entry as Record<string, unknown>;
  if (typeof token !== "string") throw new Error("has no token");
  try {
    parseToken(token);
  } catch (error) {
    throw new Error(`has a token that ${(error as Error).message}`);
  }
  return { name: readName("name", name), token, seat: readName("seat", seat), ...readRights(rights) };
}

function readName(member: string, value: unknown): string {
  if (typeof value === "string" && nameForm.test(value)) return value;
  throw new Error(`needs a ${member} of 1 to 64 letters, digits, hyphens and underscores`);
}

function readRights(rights: unknown): Pick<NamedToken, "books" | "mayModerate" | "mayReadReports"> {
  const help = "rights are seal, seal:BOOK, moderate and read reports";
  if (!Array.isArray(rights) || rights.length === 0) throw new Error(`has no list of rights; ${help}`);
  const known = rights.every(
    (each) => typeof each === "string" && /^(?:seal(?::.{1,64})?|moderate|read reports)$/su.test(each),
  );
  if (!known) throw new Error(`has an unknown right; ${help}`);
  const books = rights.filter((each) => each.startsWith("seal:")).map((each) => each.slice("seal:".length));
  return {
    books: rights.includes("seal") ? "all" : books,
    mayModerate: rights.includes("moderate"),
    mayReadReports: rights.includes("read reports"),
  };
}
