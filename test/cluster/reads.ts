// What it costs that reads wait for what the other servers of the cluster have acknowledged.
import { Cluster } from "../hammer/cluster.ts";
import { underLoad } from "../support/process.ts";
import type { Clustered } from "./clustered.ts";
import { Prober } from "./prober.ts";

const posts = 50;
/** Reads with and without the wait take turns: so many of one, then of the other. */
const readsATurn = 100;
const turns = 10;

/** Times of one kind of reads, in milliseconds. */
export interface ReadTimes {
  what: string;
  /** With STOA_DATABASE_SYNC_READS off, and on. */
  off: Percentiles;
  on: Percentiles;
}

export interface Percentiles {
  median: number;
  p95: number;
}

/**
 * Reads a post and a page of posts, one request at a time, from two replicas on the first server of the cluster. One waits,
 * the other does not.
 */
export async function measureReads({ urlOf }: Clustered): Promise<ReadTimes[]> {
  const replicas = await Cluster.start([
    { ...underLoad, STOA_DATABASE_URL: urlOf(0), STOA_DATABASE_SYNC_READS: "off" },
    { ...underLoad, STOA_DATABASE_URL: urlOf(0), STOA_DATABASE_SYNC_READS: "on" },
    { ...underLoad, STOA_DATABASE_URL: urlOf(1) },
  ]);
  try {
    const [off, on, other] = replicas.urls() as [string, string, string];
    const first = new Prober("reads", () => off);
    await first.run(() => first.acknowledged >= posts);
    const found: ReadTimes[] = [];
    const measureBoth = async (meanwhile: string) => {
      for (const [what, path] of [
        ["a post", (turn: number) => `posts/${first.ids[turn % posts]}`],
        ["a page of 25 posts", () => "posts?limit=25"],
      ] as const) {
        const times = { off: [] as number[], on: [] as number[] };
        for (let turn = 0; turn < turns; turn++) {
          for (const [name, url] of [
            ["off", off],
            ["on", on],
          ] as const) {
            for (let read = 0; read < readsATurn; read++) times[name].push(await timeOf(`${url}/api/v1/${path(read)}`));
          }
        }
        found.push({ what: `${what}, ${meanwhile}`, off: summary(times.off), on: summary(times.on) });
      }
    };
    await measureBoth("nobody writes");
    const writers = Array.from({ length: 4 }, (_, index) => new Prober(`writer${index}`, () => other));
    let isOver = false;
    const writing = writers.map((each) => each.run(() => isOver));
    try {
      await measureBoth("four clients write");
    } finally {
      isOver = true;
      await Promise.all(writing);
    }
    return found;
  } finally {
    await replicas.stop();
  }
}

async function timeOf(url: string): Promise<number> {
  const begun = performance.now();
  const reply = await fetch(url);
  await reply.arrayBuffer();
  if (reply.status !== 200) throw new Error(`${url}: ${reply.status}`);
  return performance.now() - begun;
}

function summary(times: number[]): Percentiles {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * sorted.length)] as number;
  return { median: at(0.5), p95: at(0.95) };
}
