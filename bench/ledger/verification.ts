import { maxBatchSize } from "../../src/ledger/verification/verification.ts";
import { median, type Sides } from "../measure.ts";
import type { Line } from "../report.ts";

/** The least share of the bare loop's speed. */
const leastRatio = 0.6;
/** How much the service may grow while it verifies, in MiB. */
const mostGrowthMiB = 64;

export interface Outcome {
  lines: Line[];
  notes: string[];
  missed: string[];
}

/**
 * Verification by the service against a bare loop over the same rows in another process, in turns; each is called once
 * before, to be warm. Times are what the caller waits.
 */
export async function measureVerification(
  sides: Sides,
  receipts: number,
  rounds: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const bare = () => timed(`${sides.baseline.child.url}/bare-loop?portion=${maxBatchSize}`, receipts, signal);
  const verify = () => timed(`${sides.service.child.url}/house/verify?from=1`, receipts, signal);
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
  if (!(ratio >= leastRatio)) {
    missed.push(`verification reaches ${ratio.toFixed(2)} of the bare loop, not ${leastRatio}`);
  }
  if (growth !== undefined && growth >= mostGrowthMiB) {
    missed.push(`verification grows the service by ${growth.toFixed(0)} MiB, not under ${mostGrowthMiB}`);
  }
  return {
    lines: [
      { case: "verify", protocol: "bare loop", perSecond: receipts / median(bareSeconds), ratio: 1 },
      { case: "verify", protocol: "rest", perSecond: receipts / median(seconds), ratio, residentMiB: highest },
    ],
    notes: [
      `verify: the service grew by ${growth?.toFixed(0) ?? "an unknown number of"} MiB (under ${mostGrowthMiB} is asked), ` +
        `${maxBatchSize} rows at once`,
    ],
    missed,
  };
}

/** How long the call takes, in seconds. @throws Error when it does not find every receipt good */
async function timed(url: string, receipts: number, signal: AbortSignal): Promise<number> {
  const begun = performance.now();
  const response = await fetch(url, { signal });
  const text = await response.text();
  const seconds = (performance.now() - begun) / 1000;
  const { count, verify_ok = true } = response.ok ? JSON.parse(text) : {};
  if (Number(count) !== receipts || !verify_ok) throw new Error(`${url} answers ${response.status}: ${text}`);
  return seconds;
}
