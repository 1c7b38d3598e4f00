import { median, type Sides } from "../measure.ts";
import type { Line } from "../report.ts";

/** The minimum share of the simple loop's speed. */
const minRatio = 0.4;
/** How many rows the simple loop reads at once. It is hardly quicker with more. */
const barePortion = 500;
/** How much the service may grow while it verifies, in MiB. */
const maxGrowthMiB = 64;

export interface Outcome {
  lines: Line[];
  notes: string[];
  missed: string[];
}

/**
 * Compares the service's verification with a simple loop over the same rows in another process, alternately. Each runs once
 * before the measurement to warm up. Times are the caller's waiting times.
 */
export async function measureVerification(
  sides: Sides,
  receipts: number,
  rounds: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const bare = () => timed(`${sides.baseline.child.url}/bare-loop?portion=${barePortion}`, receipts, signal);
  // A report is used again for some seconds, also for later parts of the chain. So each verification begins at an earlier receipt.
  let from = rounds + 2;
  const verify = () => {
    from -= 1;
    return timed(`${sides.service.child.url}/house/verify?from=${from}`, receipts - from + 1, signal);
  };
  const { memory } = sides.service;
  await bare();
  await verify();
  memory.takeRecent();
  const before = memory.takeRecent();

  const bareSeconds: number[] = [];
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) bareSeconds.push(await bare());
    seconds.push(await verify());
    if (round % 2 === 1) bareSeconds.push(await bare());
  }
  const highest = memory.takeRecent();
  const ratio = median(seconds.map((value, round) => (bareSeconds[round] as number) / value));
  const growth = highest === undefined || before === undefined ? undefined : highest - before;

  const missed: string[] = [];
  if (!(ratio >= minRatio)) {
    missed.push(`verification reaches ${ratio.toFixed(2)} of the bare loop, not ${minRatio}`);
  }
  if (growth !== undefined && growth >= maxGrowthMiB) {
    missed.push(`verification grows the service by ${growth.toFixed(0)} MiB, not under ${maxGrowthMiB}`);
  }
  return {
    lines: [
      { case: "verify", protocol: "bare loop", perSecond: receipts / median(bareSeconds), ratio: 1 },
      { case: "verify", protocol: "rest", perSecond: receipts / median(seconds), ratio, residentMiB: highest },
    ],
    notes: [
      `verify: the service grew by ${growth?.toFixed(0) ?? "an unknown number of"} MiB (under ${maxGrowthMiB} is asked)`,
    ],
    missed,
  };
}

/** Returns how long the call takes, in seconds. @throws Error when it finds a damaged receipt */
async function timed(url: string, receipts: number, signal: AbortSignal): Promise<number> {
  const begun = performance.now();
  const response = await fetch(url, { signal });
  const text = await response.text();
  const seconds = (performance.now() - begun) / 1000;
  const { count, verify_ok = true } = response.ok ? JSON.parse(text) : {};
  if (Number(count) !== receipts || !verify_ok) throw new Error(`${url} answers ${response.status}: ${text}`);
  return seconds;
}
