// What readers of a log wait for: its proofs and tiles, a mirror of it, and the checkpoint that has what was just written.
import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { parseBundle } from "../../src/tlog/tiles/bundle.ts";
import { formatTilePath, fullWidth } from "../../src/tlog/tiles/tile-path.ts";
import { createCases } from "../cases.ts";
import { startBaseline } from "../environment.ts";
import { runLoad } from "../load.ts";
import { median } from "../measure.ts";
import { watch } from "../memory.ts";
import { concurrency } from "../options.ts";
import { handWritten, type Request } from "../protocols.ts";
import type { Run } from "../run.ts";

/** The minimum share of `GET /posts/{id}`, of a hand-written route, and of a loop that reads and hashes. */
const minProof = 0.5;
const minTile = 0.8;
const minMirror = 0.5;
/** From a reply to a served checkpoint that has it, in milliseconds. */
const maxP50 = 400;
const maxP99 = 1_000;
const writesPerSecond = 500;
const maxInFlight = 64;

interface Published {
  notes: string[];
  missed: string[];
}

/** @param url the address of a service whose log has everything. @param address its database */
export async function measurePublished(run: Run, url: string, address: DatabaseConfig): Promise<Published> {
  const { options, log, signal, cleanUp } = run;
  const { rounds, population } = options;
  const size = await checkpointSize(url);
  const random = (below: number) => Math.floor(Math.random() * below);
  const reads = (at: string, pathOf: () => string) =>
    perSecond(run, at, () => Array.from({ length: 300 }, () => ({ method: "GET", path: pathOf(), headers: {} })));

  log("measuring proofs");
  const post = () => `/api/v1/posts/${1 + random(population.posts)}`;
  const proofs = await paired(
    rounds,
    () => reads(url, post),
    () => reads(url, () => `${post()}/proof`),
  );

  log("measuring tiles");
  const byHand = await watch(startBaseline(address, signal, "log/hand-written.ts"), cleanUp);
  const tile = () =>
    `/log/${formatTilePath({ level: 0, index: random(Math.floor(size / fullWidth)), width: fullWidth })}`;
  const tiles = await paired(
    rounds,
    () => reads(byHand.child.url, tile),
    () => reads(url, tile),
  );

  log("measuring mirrors");
  const mirrors = await paired(
    rounds,
    () => perSecondOf(size, () => readAndHash(url, size)),
    () => perSecondOf(size, () => mirror(url)),
  );

  log("measuring the time to a served checkpoint");
  const waits = await measureWaits(run, url);
  const compared = [
    { what: "a proof", ratio: proofs, min: minProof, of: "GET /posts/{id}" },
    { what: "a tile", ratio: tiles, min: minTile, of: "a hand-written route" },
    { what: "stoa mirror", ratio: mirrors, min: minMirror, of: "a loop that reads and hashes" },
  ];
  const notes = compared.map(({ what, ratio, of }) => `${what}: ${ratio.toFixed(2)} of ${of}`);
  const missed = compared
    .filter(({ ratio, min }) => !(ratio >= min))
    .map(({ what, ratio, min }) => `${what} reaches ${ratio.toFixed(2)}, not ${min}`);
  const told =
    `from a reply to a served checkpoint: p50 ${Math.round(waits.p50)} ms, p99 ${Math.round(waits.p99)} ms at ` +
    `${Math.round(waits.perSecond)} writes a second (at most ${maxP50} and ${maxP99} ms are asked)`;
  if (!(waits.p50 <= maxP50 && waits.p99 <= maxP99)) missed.push(told);
  return { notes: [...notes, told], missed };
}

/**
 * Repeats requests for the duration of a round. @param requestsOf those of a connection
 * @returns how many are answered a second. @throws Error if one fails
 */
export async function perSecond(
  { options, signal }: Run,
  url: string,
  requestsOf: (connection: number) => Request[],
): Promise<number> {
  const requests = Array.from({ length: concurrency }, (_, connection) => requestsOf(connection));
  const round = await runLoad(handWritten.transport, { url, seconds: options.seconds, requests, signal });
  if (round.failed > 0) throw new Error(`${round.failed} calls failed: ${round.failures.join("; ")}`);
  return round.perSecond;
}

/** The median share of the second by the first, which are measured in turn. */
async function paired(
  rounds: number,
  reference: () => Promise<number>,
  measured: () => Promise<number>,
): Promise<number> {
  await reference();
  await measured();
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0 ? await reference() : await measured();
    const second = round % 2 === 0 ? await measured() : await reference();
    ratios.push(round % 2 === 0 ? second / first : first / second);
  }
  return median(ratios);
}

async function perSecondOf(entries: number, work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return entries / ((performance.now() - begun) / 1000);
}

async function checkpointSize(url: string): Promise<number> {
  return Number((await (await fetch(`${url}/log/checkpoint`)).text()).split("\n")[1]);
}

async function readAndHash(url: string, size: number): Promise<void> {
  for (let index = 0; index * fullWidth < size; index++) {
    const width = Math.min(fullWidth, size - index * fullWidth);
    const path = formatTilePath({ level: "entries", index, width });
    const bundle = new Uint8Array(await (await fetch(`${url}/log/${path}`)).arrayBuffer());
    for (const entry of parseBundle(bundle, width)) hash("sha256", entry, "buffer");
  }
}

async function mirror(url: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "stoa-bench-mirror-"));
  const program = join(import.meta.dirname, "../../src/cli/main.ts");
  const flags = ["--disable-warning=ExperimentalWarning"];
  const child = spawn(process.execPath, [...flags, program, "mirror", url, folder], { stdio: "ignore" });
  const status = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  rmSync(folder, { recursive: true });
  if (status !== 0) throw new Error(`stoa mirror ended with ${status}.`);
}

/** Writes at a steady rate, and compares the times of the replies with those of the checkpoints. */
async function measureWaits(run: Run, url: string): Promise<{ p50: number; p99: number; perSecond: number }> {
  const { options, signal } = run;
  const create = createCases(options.population).find(({ name }) => name === "create");
  if (create === undefined) throw new Error("There is no case create.");
  const requests = Array.from({ length: concurrency }, (_, index) =>
    create.calls(index).map(handWritten.encode),
  ).flat();
  const replies: { id: number; at: number }[] = [];
  const checkpoints: { size: number; at: number }[] = [];
  let isOver = false;
  const looking = (async () => {
    while (!isOver) {
      checkpoints.push({ size: await checkpointSize(url), at: performance.now() });
      await sleep(10, undefined, { signal });
    }
  })();

  const ms = Math.max(5_000, options.seconds * 2_000);
  const began = performance.now();
  const inFlight = new Set<Promise<void>>();
  for (let made = 0; performance.now() - began < ms; ) {
    const due = Math.floor(((performance.now() - began) / 1000) * writesPerSecond);
    for (; made < due && inFlight.size < maxInFlight; made++) {
      const call = write(url, requests[made % requests.length] as Request).then((id) => {
        replies.push({ id, at: performance.now() });
        inFlight.delete(call);
      });
      inFlight.add(call);
    }
    await sleep(1, undefined, { signal });
  }
  await Promise.all(inFlight);
  const perSecond = replies.length / ((performance.now() - began) / 1000);
  await sleep(3_000, undefined, { signal });
  isOver = true;
  await looking;

  const waits: number[] = [];
  // Some of them are looked up: each look-up is a request.
  for (let nth = 0; nth < replies.length; nth += Math.ceil(replies.length / 500)) {
    const { id, at } = replies[nth] as (typeof replies)[number];
    const reply = await fetch(`${url}/api/v1/log/entries?item=post&item_id=${id}`);
    const { entries } = (await reply.json()) as { entries: { index: number }[] };
    const index = entries[0]?.index;
    const served = checkpoints.find(({ size }) => index !== undefined && size > index);
    waits.push(served === undefined ? Number.POSITIVE_INFINITY : Math.max(0, served.at - at));
  }
  waits.sort((a, b) => a - b);
  const part = (share: number) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? Number.NaN;
  return { p50: part(0.5), p99: part(0.99), perSecond };
}

async function write(url: string, { path, headers, body }: Request): Promise<number> {
  const reply = await fetch(url + path, { method: "POST", headers, body: new Uint8Array(body ?? []) });
  const { post } = (await reply.json()) as { post?: { id: number } };
  if (post === undefined) throw new Error(`${path} answers ${reply.status}.`);
  return post.id;
}
