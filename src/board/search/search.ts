import { badInput } from "../../errors.ts";
import type { Searched } from "../../store/tables/search-index.ts";
import { findSearched, type SearchedRows } from "../../store/tables/search-items.ts";
import {
  lastOfNewest,
  listByRank,
  listNewest,
  type Ranked,
  type SearchScope,
  scanNewest,
} from "../../store/tables/search-results.ts";
import { newestFirst } from "../../store/tables/time-order.ts";
import { findNamed } from "../agents.ts";
import type { Queryable } from "../board.ts";
import { getCommunityId } from "../communities.ts";
import { decodeSearchCursor, encodeSearchCursor, type Position } from "./cursor.ts";
import { planSearch, type SearchPlan } from "./plan.ts";
import { parseQuery } from "./query.ts";

export type { Searched } from "../../store/tables/search-index.ts";
export type { SearchedRows } from "../../store/tables/search-items.ts";

/** What to search for. The text has passed the field rules. */
export interface SearchInput<Type extends Searched> {
  text: string;
  type: Type;
  /** The names of a community and of an agent, for posts and comments. */
  community: string | undefined;
  author: string | undefined;
  sort: "relevance" | "new";
  limit: number;
  cursor: string | undefined;
}

export interface SearchResult<Type extends Searched> {
  rows: SearchedRows[Type][];
  nextCursor: string | undefined;
}

/*
 * `new` goes by ids, and each page is sorted by time, because MySQL cannot add the time to a table with a full-text index
 * while others write. If several servers write at the same time, items of neighbouring pages may be out of order, by about
 * the time that a write takes from one server to the other. No result is repeated or missed.
 */

/** The number of results that are ranked. */
const maxRanked = 1_000;
/** The number of items that one round reads, and the number of rounds. All rounds take a second with the longest texts. */
const scanSize = 2_000;
const maxRounds = 10;
/** After this time no further round begins, in milliseconds. The next page goes on. */
const roundsMs = 500;

/**
 * A page of what matches a query and stands.
 * @throws StoaError `bad_input` for a query without words, a cursor of something else, or a filter that the type does not
 * have; `not_found` for an unknown community or author, with the field
 */
export async function search<Type extends Searched>(
  db: Queryable,
  input: SearchInput<Type>,
): Promise<SearchResult<Type>> {
  const { text, type, sort, limit, cursor } = input;
  const { required, excluded, words } = parseQuery(text);
  const communityId = await communityOf(db, input);
  const authorId = await authorOf(db, input);
  const scope: SearchScope = { type, communityId, authorId, required, excluded };
  const identity = [text, type, communityId ?? null, authorId ?? null, sort];
  const start = cursor === undefined ? undefined : decodeSearchCursor(cursor, identity, words);
  let plan = await planSearch(db, scope, sort, words, start?.plan);
  const found: { position: Position; row: SearchedRows[Type] }[] = [];
  let after: Position | undefined = start?.after;
  const endsAt = performance.now() + roundsMs;
  for (let round = 0; round < maxRounds && found.length <= limit; round++) {
    const next = await nextEntries(db, scope, plan, after, limit + 1 - found.length);
    if (next === undefined) {
      plan = { by: "scan" };
      continue;
    }
    const { entries, end } = next;
    // Some may have been removed since the index was read.
    const rows = await findSearched(
      db,
      type,
      entries.map(({ id }) => id),
    );
    for (const position of entries) {
      const row = rows.get(position.id);
      if (row !== undefined) found.push({ position, row });
    }
    after = end;
    if (end === undefined || performance.now() > endsAt) break;
  }
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1)?.position : after;
  const rows = page.map(({ row }) => row);
  return {
    rows: sort === "new" ? rows.sort(newestFirst.compare) : rows,
    nextCursor: last && encodeSearchCursor(identity, { plan, after: last }),
  };
}

/**
 * The next entries in order, at most `count`.
 * @returns them, and where the next ones begin; `end` is undefined if there are no more. Undefined if the index finds too much
 */
async function nextEntries(
  db: Queryable,
  scope: SearchScope,
  plan: SearchPlan,
  after: Position | undefined,
  count: number,
): Promise<{ entries: Position[]; end: Position | undefined } | undefined> {
  if (plan.by === "rank") return nextByRank(db, restOf(scope, plan.words), plan.words, after, count);
  const before = after?.id ?? Number.MAX_SAFE_INTEGER;
  if (plan.by === "newest") {
    const ids = await listNewest(db, restOf(scope, plan.words), plan.words, before, count);
    const entries = ids?.map(positionOf);
    return entries && { entries, end: entries.length === count ? entries.at(-1) : undefined };
  }
  const last = await lastOfNewest(db, scope, before, scanSize);
  const entries = (await scanNewest(db, scope, before, last ?? 0, count)).map(positionOf);
  const unread = last === undefined ? undefined : positionOf(last);
  return { entries, end: entries.length === count ? entries.at(-1) : unread };
}

/** Every write changes all ranks a little. So a page begins after the place that the last result has now. */
async function nextByRank(
  db: Queryable,
  scope: SearchScope,
  words: readonly string[],
  after: Position | undefined,
  count: number,
): Promise<{ entries: Position[]; end: Position | undefined } | undefined> {
  const all = await listByRank(db, scope, words, after === undefined ? count : maxRanked);
  if (all === undefined) return undefined;
  const rest = after === undefined ? all : behind(all, after);
  const entries = rest.slice(0, count);
  return { entries, end: entries.length === count ? entries.at(-1) : undefined };
}

function behind(all: readonly Ranked[], { id, relevance }: Position): Ranked[] {
  const index = all.findIndex((each) => each.id === id);
  if (index >= 0) return all.slice(index + 1);
  return all.filter((each) => each.relevance < relevance || (each.relevance === relevance && each.id < id));
}

/** The index finds items by single words. The other conditions are checked on the items that it finds. */
function restOf(scope: SearchScope, words: readonly string[]): SearchScope {
  return { ...scope, required: scope.required.filter((term) => !words.includes(term)) };
}

function positionOf(id: number): Position {
  return { id, relevance: 0 };
}

async function communityOf(db: Queryable, { community, type }: SearchInput<Searched>): Promise<number | undefined> {
  if (community === undefined) return undefined;
  checkFilter("community", type);
  return getCommunityId(db, community, "community");
}

async function authorOf(db: Queryable, { author, type }: SearchInput<Searched>): Promise<number | undefined> {
  if (author === undefined) return undefined;
  checkFilter("author", type);
  return (await findNamed(db, author, "author")).id;
}

function checkFilter(field: string, type: Searched): void {
  if (type !== "posts" && type !== "comments") throw badInput(field, `${field} is a filter for posts and comments.`);
}
