import { type Sample, type SearchScope, sampleNewest } from "../../store/tables/search-results.ts";
import type { Queryable } from "../board.ts";

/**
 * How a search finds its results. Lists of common words are long in the index: they cost the engine much time and memory,
 * and they grow with the board. Where many items match, reading the newest items one by one soon fills a page, on any board.
 */
export type SearchPlan =
  /** By the index: the results that hold these words, in the order of their ranks, or the newest first. */
  | { by: "rank" | "newest"; words: readonly string[] }
  /** By reading items, the newest first. */
  | { by: "scan" };

/** How many of the newest items tell how common a word is. */
const sampleSize = 1_000;
/** A word is common if more than this share of the items holds it. */
const commonShare = 0.04;
/** Items are read one by one if more than this share of them matches: a page of 25 is full after 1,250 of them. */
const scannedShare = 0.02;
/** The engine reads and ranks each item that matches. For this many it takes 30 ms on an idle machine. */
const maxRankedMatches = 5_000;
/** With fewer matches, a sample does not tell how many items a scan would read. */
const minMatches = 3;
const pageSize = 25;
/** How many words are considered. The index is not asked for others. */
export const maxWords = 8;

/**
 * Decides how to search.
 * @param words all that must occur
 * @param first the plan of the first page, by a cursor. It stays, without words that are twice as common as that page would
 *   take: anybody can write a cursor
 */
export async function planSearch(
  db: Queryable,
  scope: SearchScope,
  sort: "relevance" | "new",
  words: readonly string[],
  first?: SearchPlan,
): Promise<SearchPlan> {
  if (first?.by === "scan") return first;
  // Longer words are rarer.
  const candidates = [...words].sort((a, b) => b.length - a.length).slice(0, maxWords);
  const everywhere = { ...scope, communityId: undefined, authorId: undefined };
  const all = await sampleNewest(db, everywhere, candidates, sampleSize);
  const by = sort === "new" ? "newest" : "rank";
  const isRare = (count: number) => !isAbove(commonShare, count, all.items);
  const rare = candidates.filter((_, index) => isRare(all.holding[index] as number));
  const countOf = (word: string) => all.holding[candidates.indexOf(word)] ?? Number.POSITIVE_INFINITY;
  if (first !== undefined && rare.length > 0) {
    // What was written meanwhile must not change the order of the pages.
    const kept = first.words.filter((word) => !isAbove(2 * commonShare, countOf(word), all.items));
    return { by, words: kept.length > 0 ? kept : rare };
  }
  const isRestricted = scope.communityId !== undefined || scope.authorId !== undefined;
  const here = isRestricted ? await sampleNewest(db, scope, [], sampleSize) : all;
  if (isAbove(scannedShare, here.matches, here.items)) return { by: "scan" };
  if (rare.length > 0) {
    return isScanCheaper(by, all, here, all.holding.filter(isRare)) ? { by: "scan" } : { by, words: rare };
  }
  if (here.items < sampleSize) return { by: "scan" };
  const least = Math.min(...all.holding);
  const [named] = first?.words ?? [];
  if (named !== undefined && countOf(named) <= 2 * least) return { by, words: [named] };
  return { by, words: [candidates[all.holding.indexOf(least)] as string] };
}

/**
 * Whether a page by a scan of the place costs less than one by the index.
 * @param all the sample of the whole board, which the index covers
 * @param here the sample of the place that is searched
 * @param holding how many items of `all` hold each word that the index would find
 */
function isScanCheaper(by: "rank" | "newest", all: Sample, here: Sample, holding: readonly number[]): boolean {
  const isWhole = here.items < sampleSize;
  if (!isWhole && here.matches < minMatches) return false;
  const itemsForEach = all.newestId / all.items;
  if (by === "rank") return all.matches * itemsForEach > maxRankedMatches;
  const scanned = isWhole ? here.items : (pageSize * here.items) / here.matches;
  return holding.reduce((sum, count) => sum + count, 0) * itemsForEach > scanned;
}

/** With few items no share counts as large, because the index is small. */
function isAbove(share: number, count: number, items: number): boolean {
  return items >= sampleSize && count > items * share;
}
