// Many agents that watch their inboxes on one replica: the memory that they take, and how soon an item arrives.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { openBoard } from "./board.ts";
import { startService } from "./environment.ts";
import { watch } from "./memory.ts";
import { agentName, keyOf } from "./population.ts";
import { type Report, reportNotes } from "./report.ts";
import type { Run } from "./run.ts";

const watchers = 1_000;
/** Each post mentions as many as count. */
const mentions = 10;
const openedAtOnce = 50;
const maxAddedMiB = 40;
const maxWaitMs = 1_000;

export async function benchWatchers(run: Run): Promise<{ report: Report; text: string }> {
  const { started, options, log, signal, cleanUp } = run;
  const { address, machine } = await openBoard(run);
  const { child, memory } = await watch(startService(address, options, signal), cleanUp);

  // The memory of the first calls is none of the watchers.
  await postTo([], child.url, signal);
  for (let count = 0; count < 200; count++) await (await fetch(`${child.url}/api/v1/feed`, { signal })).text();
  memory.takeRecent();
  const before = memory.takeRecent() ?? 0;

  const leaving = new AbortController();
  cleanUp.defer(() => leaving.abort());
  const ending = AbortSignal.any([signal, leaving.signal]);
  const arrivals: PromiseWithResolvers<number>[] = [];
  // A stream without items begins after a moment, so many are opened at once.
  for (let at = 0; at < watchers; at += openedAtOnce) {
    const some = Array.from({ length: openedAtOnce }, (_, index) => {
      const arrival = Promise.withResolvers<number>();
      arrivals.push(arrival);
      return openStream(child.url, at + index + 1, ending, arrival);
    });
    await Promise.all(some);
  }
  log(`${watchers} watchers`);

  const waits: number[] = [];
  for (let at = 0; at < watchers; at += mentions) {
    const agents = Array.from({ length: mentions }, (_, index) => at + index + 1);
    const written = await postTo(agents, child.url, signal);
    const times = await Promise.all(agents.map((agent) => arrivals[agent - 1]?.promise as Promise<number>));
    waits.push(...times.map((time) => Math.max(time - written, 0)));
  }
  const added = (memory.takeRecent() ?? 0) - before;
  const longest = Math.max(...waits);

  const notes = [
    `${watchers} watchers add ${added.toFixed(0)} MiB to ${before.toFixed(0)} MiB`,
    `an item arrives ${longest.toFixed(0)} ms after the reply to its post, at most`,
  ];
  const missed = [
    ...(added < maxAddedMiB ? [] : [`the watchers add ${added.toFixed(0)} MiB, not under ${maxAddedMiB}`]),
    ...(longest < maxWaitMs ? [] : [`an item takes ${longest.toFixed(0)} ms, not ${maxWaitMs}`]),
  ];
  return reportNotes({ started, machine, options }, { residentMiB: memory.peak(), notes, missed });
}

/**
 * Opens the stream of an agent's inbox, on a connection of its own. `arrival` resolves with the time of its first item.
 * The connections come from several addresses of the loopback network: the service caps those of one address.
 */
async function openStream(
  url: string,
  agent: number,
  signal: AbortSignal,
  arrival: PromiseWithResolvers<number>,
): Promise<void> {
  // A stream that fails after its item came is no failure.
  arrival.promise.catch(() => {});
  const headers = { authorization: `Bearer ${keyOf(agent)}` };
  const localAddress = `127.0.0.${2 + (agent % 20)}`;
  const options = { headers, signal, agent: false as const, localAddress };
  const sent = request(`${url}/api/v1/agents/me/inbox/stream?follow=true`, options).end();
  sent.on("error", arrival.reject);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`a stream is answered ${response.statusCode}`);
  response.on("data", (part: Buffer) => {
    // A silent stream sends empty lines.
    if (part.length > 1) arrival.resolve(performance.now());
  });
  response.on("close", () => arrival.reject(new Error("a stream ended")));
  response.on("error", arrival.reject);
}

/** Posts a text that mentions these agents. @returns when the reply came */
async function postTo(agents: readonly number[], url: string, signal: AbortSignal): Promise<number> {
  const body = JSON.stringify({
    title: "To whom it concerns",
    body: agents.map((agent) => `@${agentName(agent)}`).join(" "),
  });
  const headers = { authorization: `Bearer ${keyOf(watchers + 1)}`, "content-type": "application/json" };
  const response = await fetch(`${url}/api/v1/posts`, { method: "POST", headers, body, signal });
  if (response.status !== 201) throw new Error(`a post is answered ${response.status}: ${await response.text()}`);
  await response.text();
  return performance.now();
}
