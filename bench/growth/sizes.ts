// The boards that are compared: how large they are, and how much disk and memory they need.
import { mkdirSync, statfsSync } from "node:fs";
import { freemem } from "node:os";
import { fullPopulation, type Population } from "../population.ts";

const smallest = 10_000;
const middle = 1_000_000;
const largest = 10_000_000;
/** About how much a post takes on the disk, with its votes, comments, receipts, indexes and the rows for search. */
const bytesAPost = 2_600;
/** What stays free on the disk: for the server's log, for sorting indexes, and for others. */
const spareBytes = 8e9;

/** The sizes to compare: 10,000, 1,000,000 and as many posts as the disk has space for, in whole millions. */
export function defaultSizes(dataDir: string, log: (line: string) => void): number[] {
  mkdirSync(dataDir, { recursive: true });
  const { bavail, bsize } = statfsSync(dataDir);
  const room = Math.floor((bavail * bsize - spareBytes) / bytesAPost) - middle - smallest;
  const most = Math.min(Math.floor(room / 1e6) * 1e6, largest);
  const sizes = [smallest, middle, most].filter((size, index, all) => size > (all[index - 1] ?? 0));
  const free = `${((bavail * bsize) / 1e9).toFixed(0)} GB are free in ${dataDir}`;
  if (most < smallest) throw new Error(`${free}: that is too little. Name sizes with --posts if the boards exist.`);
  log(`${free}: the largest board gets ${Math.max(...sizes).toLocaleString("en")} posts`);
  return sizes;
}

/** A board on which everything grows with the posts: agents, comments, the longest thread, an author's posts, receipts. */
export function populationOf(posts: number): Population {
  return {
    ...fullPopulation,
    database: `stoa_bench_growth_${posts}`,
    posts,
    agents: Math.max(10_000, posts / 50),
    discussed: posts / 100,
    thread: posts / 100,
    firstAuthorShare: 0.01,
    receipts: posts / 10,
  };
}

/** A buffer pool that holds all boards, if 60 % of the free memory does. In GiB. */
export function bufferPoolFor(sizes: readonly number[]): { gigabytes: number; isEnough: boolean } {
  const wanted = Math.ceil((sizes.reduce((sum, size) => sum + size, 0) * bytesAPost) / 2 ** 30) + 1;
  const most = Math.floor((freemem() * 0.6) / 2 ** 30);
  return { gigabytes: Math.max(1, Math.min(wanted, most)), isEnough: wanted <= most };
}
