import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { median, type Sides } from "../measure.ts";
import { type Line, maxResidentMiB } from "../report.ts";
import { type OpenStream, type StreamProtocol, streamProtocols } from "./stream-clients.ts";
import type { Outcome } from "./verification.ts";

const slowFollowers = 50;
/** The speed of each slow follower, in bytes a second. */
const slowPace = 32 * 1024;
/** The minimum share of its speed alone that a reader keeps beside the slow followers. */
const minShareBeside = 0.5;

/**
 * Streams the newest `count` receipts to one reader, alternately alone and beside slow followers of the same protocol. The
 * reader runs in this process, on the machine of the service and the database, so the numbers include its cost.
 */
export async function measureStreams(
  sides: Sides,
  { head, count, rounds }: { head: number; count: number; rounds: number },
  signal: AbortSignal,
): Promise<Outcome> {
  const { child, memory } = sides.service;
  const from = head - count + 1;
  const results = streamProtocols.map((protocol) => ({ protocol, alone: new Results(), beside: new Results() }));
  for (const { protocol } of results) await readAll(protocol, child.url, head - Math.ceil(count / 5) + 1, head, signal);
  for (let round = 0; round < rounds; round++) {
    for (const { protocol, alone, beside } of results) {
      memory.takeRecent();
      alone.perSecond.push(await readAll(protocol, child.url, from, head, signal));
      alone.residentMiB.push(memory.takeRecent() ?? 0);
      const { perSecond, taken } = await readBesideSlow(protocol, child.url, from, head, signal);
      beside.perSecond.push(perSecond);
      beside.taken.push(...taken);
      beside.residentMiB.push(memory.takeRecent() ?? 0);
    }
  }
  const outcomes = results.map(({ protocol, alone, beside }) => judge(protocol.name, alone, beside));
  return {
    lines: [...outcomes.map(({ alone }) => alone), ...outcomes.map(({ beside }) => beside)],
    notes: outcomes.map(({ note }) => note),
    missed: outcomes.flatMap(({ missed }) => missed),
  };
}

class Results {
  readonly perSecond: number[] = [];
  readonly residentMiB: number[] = [];
  /** The receipts that each slow follower read in a round. */
  readonly taken: number[] = [];

  line(name: string, protocol: string, ratio?: number): Line {
    const residentMiB = Math.max(...this.residentMiB) || undefined;
    return { case: name, protocol, perSecond: median(this.perSecond), ratio, residentMiB };
  }
}

function judge(protocol: string, alone: Results, beside: Results) {
  const ratio = median(beside.perSecond.map((value, round) => value / (alone.perSecond[round] as number)));
  const lines = { alone: alone.line("stream", protocol), beside: beside.line("stream-slow", protocol, ratio) };
  const least = Math.min(...beside.taken);
  const missed: string[] = [];
  if (least === 0) missed.push(`a slow follower over ${protocol} received nothing`);
  if (!(ratio >= minShareBeside)) {
    missed.push(
      `beside slow followers a reader over ${protocol} keeps ${ratio.toFixed(2)} of its speed, not ${minShareBeside}`,
    );
  }
  const { residentMiB = 0 } = lines.beside;
  if (residentMiB >= maxResidentMiB) {
    missed.push(
      `with slow followers over ${protocol} the service takes ${residentMiB.toFixed(0)} MiB, not under ${maxResidentMiB}`,
    );
  }
  const note =
    `stream-slow, ${protocol}: each of the ${slowFollowers} slow followers took from ${least} to ` +
    `${Math.max(...beside.taken)} receipts meanwhile`;
  return { ...lines, note, missed };
}

/** Reads the receipts from `from` to `head` as fast as possible. @returns receipts a second */
async function readAll(
  protocol: StreamProtocol,
  url: string,
  from: number,
  head: number,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted();
  const begun = performance.now();
  const stream = await protocol.open(url, { from, follow: false, roomy: true });
  try {
    let count = 0;
    for await (const chunk of stream.body) {
      count = stream.count(chunk);
      signal.throwIfAborted();
    }
    const expected = head - from + 1;
    if (count !== expected) throw new Error(`a stream over ${protocol.name} gave ${count} receipts, not ${expected}`);
    return count / ((performance.now() - begun) / 1000);
  } finally {
    stream.close();
  }
}

async function readBesideSlow(
  protocol: StreamProtocol,
  url: string,
  from: number,
  head: number,
  signal: AbortSignal,
): Promise<{ perSecond: number; taken: number[] }> {
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  const streams: OpenStream[] = [];
  try {
    for (let i = 0; i < slowFollowers; i++)
      streams.push(await protocol.open(url, { from: 1, follow: true, roomy: false }));
    // The measurement starts after the buffers of the slow followers are full.
    await Promise.all(streams.map(({ body }) => once(body, "readable", { signal: either })));
    const taken = Promise.all(streams.map((stream) => takeSlowly(stream, either)));
    taken.catch(() => {}); // thrown below, when the reader is done
    const perSecond = await readAll(protocol, url, from, head, signal);
    ending.abort();
    return { perSecond, taken: await taken };
  } finally {
    ending.abort();
    for (const stream of streams) stream.close();
  }
}

/** Alternately reads a little and pauses until `signal` aborts. @returns the number of receipts read */
async function takeSlowly({ body, count }: OpenStream, signal: AbortSignal): Promise<number> {
  let taken = 0;
  try {
    for await (const chunk of body) {
      taken = count(chunk);
      await pause((1000 * chunk.length) / slowPace, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return taken;
  }
  throw new Error("a following stream has ended");
}
