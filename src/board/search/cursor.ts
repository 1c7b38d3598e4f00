import { createHash } from "node:crypto";
import { badInput } from "../../errors.ts";
import { decodeCursor, encodeCursor } from "../cursors.ts";
import { maxWords, type SearchPlan } from "./plan.ts";

/** The place of a result: results after it are still to come. */
export interface Position {
  id: number;
  /** Its rank when it was found. */
  relevance: number;
}

/** What a cursor holds. All pages of a search follow the plan of the first one. */
export interface SearchCursor {
  plan: SearchPlan;
  after: Position;
}

/** What a cursor is bound to: the search without its limit. */
export type SearchIdentity = readonly (string | number | null)[];

export function encodeSearchCursor(identity: SearchIdentity, { plan, after }: SearchCursor): string {
  const words = plan.by === "scan" ? "" : plan.words.join(" ");
  return encodeCursor(["search", digest(identity), plan.by, words, after.relevance, after.id]);
}

/**
 * @param words all words of the search
 * @throws StoaError `bad_input`, field `cursor`, for a cursor of something else
 */
export function decodeSearchCursor(text: string, identity: SearchIdentity, words: readonly string[]): SearchCursor {
  const [kind, search, by, chosen, relevance, id, ...rest] = decodeCursor(text);
  const found = typeof chosen === "string" && chosen !== "" ? chosen.split(" ") : [];
  if (
    kind === "search" &&
    search === digest(identity) &&
    (by === "scan" || by === "rank" || by === "newest") &&
    (by === "scan") === (found.length === 0) &&
    isPlanned(found, words) &&
    typeof relevance === "number" &&
    Number.isSafeInteger(id) &&
    rest.length === 0
  ) {
    return { plan: by === "scan" ? { by } : { by, words: found }, after: { id: id as number, relevance } };
  }
  throw badInput("cursor", "This is not a cursor of this search.");
}

/** Whether a plan could have these words: anybody can write a cursor, and many words are costly. `planSearch` checks the rest. */
function isPlanned(found: readonly string[], words: readonly string[]): boolean {
  const isShort = found.length <= maxWords && new Set(found).size === found.length;
  return isShort && found.every((word) => words.includes(word));
}

function digest(identity: SearchIdentity): string {
  return createHash("sha256").update(JSON.stringify(identity)).digest("base64url").slice(0, 16);
}
