import { hasFoundTooMuch } from "../database/database-errors.ts";
import type { Param, Queryable } from "../database/queryable.ts";
import type { Searched } from "./search-index.ts";

/*
 * The index answers which items hold some words. The other conditions are checked on the tokens of these items: phrases,
 * because engines miss some, and common words, because their lists are long.
 */

/** Where to search, and what the tokens of a result hold. A needle is a token, or several, between spaces. */
export interface SearchScope {
  type: Searched;
  communityId: number | undefined;
  authorId: number | undefined;
  /** What the tokens must hold. */
  required: readonly string[];
  /** What the tokens must not hold. */
  excluded: readonly string[];
}

/** A result, with its rank if the order is by rank. */
export interface Ranked {
  id: number;
  relevance: number;
}

/** A statement has one of these numbers of needles, so that there are few different statements. */
const needleCounts = [0, 2, 8, 32];

/** What the newest items of a place tell of all of them. */
export interface Sample {
  items: number;
  /** How many of them match. */
  matches: number;
  /** How many of them hold each of the words. */
  holding: number[];
  /** The highest id; 0 if there is nothing. Ids count up from 1, so there are at most this many items. */
  newestId: number;
}

/**
 * Samples the newest items. The index is named for the join as well: where the statistics are those of an empty table, MariaDB
 * would read the whole table for the items.
 * @param words the words to count
 */
export async function sampleNewest(
  db: Queryable,
  scope: SearchScope,
  words: readonly string[],
  limit: number,
): Promise<Sample> {
  const conditions = needlesOf(scope);
  const place = placeOf(scope);
  const counted = fill(words);
  const [row] = await db.rows<Record<string, number | string | null>>(
    `SELECT COUNT(*) AS items, MAX(s.id) AS newest_id, SUM(${conditions.sql}) AS matches
       ${counted.map((_, index) => `, SUM(INSTR(s.tokens, ?) > 0) AS word_${index}`).join("")}
     FROM (SELECT id FROM search_${scope.type} FORCE INDEX (${place.index}) ${place.where} ORDER BY id DESC LIMIT ?) page
     STRAIGHT_JOIN search_${scope.type} s FORCE INDEX (PRIMARY) ON s.id = page.id`,
    [...conditions.params, ...counted.map((word) => ` ${word} `), ...place.params, String(limit)],
  );
  return {
    items: Number(row?.items),
    matches: Number(row?.matches),
    newestId: Number(row?.newest_id),
    holding: words.map((_, index) => Number(row?.[`word_${index}`])),
  };
}

/**
 * The full-text index reads every item that holds the words, and ranks it. So common words are not looked up there
 * (board/search/plan.ts), and a search that still takes long ends by its deadline. The server's setting
 * innodb_ft_result_cache_limit bounds the bytes: about 100 for each item.
 * @returns undefined if there are more items than that
 */
async function lookUp<Row>(db: Queryable, sql: string, params: readonly Param[]): Promise<Row[] | undefined> {
  try {
    return await db.rows<Row>(sql, params);
  } catch (error) {
    if (hasFoundTooMuch(error)) return undefined;
    throw error;
  }
}

/**
 * The results with the highest ranks, the newer first among equals.
 * @param words found by the index; at least one
 * @returns undefined if the index finds too many
 */
export function listByRank(
  db: Queryable,
  scope: SearchScope,
  words: readonly string[],
  limit: number,
): Promise<Ranked[] | undefined> {
  const conditions = needlesOf(scope);
  const filter = filterOf(scope);
  const match = "MATCH (s.tokens) AGAINST (? IN BOOLEAN MODE)";
  return lookUp<Ranked>(
    db,
    `SELECT s.id, ${match} AS relevance FROM search_${scope.type} s WHERE ${match} AND ${filter.sql} AND ${conditions.sql}
     ORDER BY relevance DESC, s.id DESC LIMIT ?`,
    [expression(words), expression(words), ...filter.params, ...conditions.params, String(limit)],
  );
}

/** The newest results before the id `before`, like `listByRank`. */
export async function listNewest(
  db: Queryable,
  scope: SearchScope,
  words: readonly string[],
  before: number,
  limit: number,
): Promise<number[] | undefined> {
  const conditions = needlesOf(scope);
  const filter = filterOf(scope);
  const rows = await lookUp<{ id: number }>(
    db,
    `SELECT s.id FROM search_${scope.type} s
     WHERE MATCH (s.tokens) AGAINST (? IN BOOLEAN MODE) AND s.id < ? AND ${filter.sql} AND ${conditions.sql}
     ORDER BY s.id DESC LIMIT ?`,
    [expression(words), before, ...filter.params, ...conditions.params, String(limit)],
  );
  return rows?.map(({ id }) => id);
}

/** The id of the last of `count` items before the id `before`, newest first; undefined if there are fewer. */
export async function lastOfNewest(
  db: Queryable,
  scope: SearchScope,
  before: number,
  count: number,
): Promise<number | undefined> {
  const { index, where, params } = placeOf(scope);
  const [row] = await db.rows<{ id: number }>(
    `SELECT id FROM search_${scope.type} FORCE INDEX (${index}) ${where === "" ? "WHERE" : `${where} AND`} id < ?
     ORDER BY id DESC LIMIT 1 OFFSET ?`,
    [...params, before, String(count - 1)],
  );
  return row?.id;
}

/** The newest results before the id `before` and from the id `from` on. It reads the tokens of every item there. */
export async function scanNewest(
  db: Queryable,
  scope: SearchScope,
  before: number,
  from: number,
  limit: number,
): Promise<number[]> {
  const conditions = needlesOf(scope);
  const filter = filterOf(scope);
  const rows = await db.rows<{ id: number }>(
    `SELECT s.id FROM search_${scope.type} s FORCE INDEX (${placeOf(scope).index})
     WHERE s.id < ? AND s.id >= ? AND ${filter.sql} AND ${conditions.sql} ORDER BY s.id DESC LIMIT ?`,
    [before, from, ...filter.params, ...conditions.params, String(limit)],
  );
  return rows.map(({ id }) => id);
}

/** Every word must occur. Tokens hold no operators. */
function expression(words: readonly string[]): string {
  return words.map((word) => `+${word}`).join(" ");
}

/** The index that has the items of a scope, newest first. */
function placeOf({ type, communityId, authorId }: SearchScope): { index: string; where: string; params: Param[] } {
  if (authorId !== undefined)
    return { index: `search_${type}_author`, where: "WHERE author_id = ?", params: [authorId] };
  if (communityId === undefined) return { index: "PRIMARY", where: "", params: [] };
  return { index: `search_${type}_community`, where: "WHERE community_id = ?", params: [communityId] };
}

function filterOf({ communityId, authorId }: SearchScope): { sql: string; params: Param[] } {
  const filters = [
    ...(communityId === undefined ? [] : [{ sql: "s.community_id = ?", value: communityId }]),
    ...(authorId === undefined ? [] : [{ sql: "s.author_id = ?", value: authorId }]),
  ];
  return { sql: ["TRUE", ...filters.map(({ sql }) => sql)].join(" AND "), params: filters.map(({ value }) => value) };
}

function needlesOf({ required, excluded }: SearchScope): { sql: string; params: Param[] } {
  const all = fill(required);
  const none = fill(excluded);
  const conditions = ["TRUE", ...all.map(() => "INSTR(s.tokens, ?) > 0"), ...none.map(() => "INSTR(s.tokens, ?) = 0")];
  return { sql: `(${conditions.join(" AND ")})`, params: [...all, ...none].map((needle) => ` ${needle} `) };
}

/** Fills a list up to one of `needleCounts` by repeating its first element. */
function fill(needles: readonly string[]): string[] {
  const count = needleCounts.find((each) => each >= needles.length) ?? needles.length;
  return [...needles, ...Array<string>(count - needles.length).fill(needles[0] as string)];
}
