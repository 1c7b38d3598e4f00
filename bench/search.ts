// The latency of searches. Callers take turns with the connections that searches have, so few of them call at once.
import { openBoard } from "./board.ts";
import { startService } from "./environment.ts";
import { watch } from "./memory.ts";
import { searchedWords } from "./population.ts";
import { type Report, reportNotes } from "./report.ts";
import type { Run } from "./run.ts";

/** The maximum median of a search for two words, each in one post of a hundred, in milliseconds. */
const maxMedianMs = 50;
const calls = 200;
const [one, two] = searchedWords;
const queries: readonly { name: string; query: Record<string, string> }[] = [
  { name: "two words, each in 1 %", query: { q: `${one} ${two}` } },
  { name: "the same, newest first", query: { q: `${one} ${two}`, sort: "new" } },
  { name: "one word in 1 %", query: { q: one } },
  { name: "one word in 1 %, newest first", query: { q: one, sort: "new" } },
  { name: "a phrase with a word in nearly all", query: { q: `"the ${one}" ${two}` } },
  { name: "a word in nearly all", query: { q: "the" } },
  { name: "a word in nearly all and a rare one", query: { q: `the ${one}` } },
  { name: "a word that no post has", query: { q: "unheard" } },
];

export async function benchSearch(run: Run): Promise<{ report: Report; text: string }> {
  const { started, options, log, signal, cleanUp } = run;
  const { address, machine } = await openBoard(run);
  const { child, memory } = await watch(startService(address, options, signal), cleanUp);

  const notes: string[] = [];
  const medians: number[] = [];
  for (const { name, query } of queries) {
    const url = `${child.url}/api/v1/search?${new URLSearchParams(query)}`;
    await measure(url, 20, 1, signal);
    for (const callers of [1, 4]) {
      const times = await measure(url, calls, callers, signal);
      if (callers === 1) medians.push(quantile(times, 0.5));
      const [p50, p99] = [0.5, 0.99].map((each) => quantile(times, each).toFixed(1));
      notes.push(`${name}, ${callers} at once: p50 ${p50} ms, p99 ${p99} ms`);
      log(notes.at(-1) as string);
    }
  }
  const [median = Number.POSITIVE_INFINITY] = medians;
  const missed =
    median < maxMedianMs ? [] : [`a search for two words takes ${median.toFixed(1)} ms, not ${maxMedianMs}`];
  return reportNotes({ started, machine, options }, { residentMiB: memory.peak(), notes, missed });
}

/** Makes calls, and returns how long each took, in milliseconds. @throws Error when one fails */
async function measure(url: string, count: number, callers: number, signal: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  let left = count;
  const caller = async () => {
    while (left-- > 0) {
      const begun = performance.now();
      const response = await fetch(url, { signal });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${url}: ${response.status} ${text.slice(0, 200)}`);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
}

function quantile(times: number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.min(Math.floor(times.length * share), times.length - 1)] as number;
}
