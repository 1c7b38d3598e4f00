import fc from "fast-check";
import { pino } from "pino";
import { beforeAll, expect, it } from "vitest";
import { allBindings } from "../http/properties/contract.ts";
import { exchange, type RawRequest } from "../http/properties/raw-http.ts";
import { requestFor } from "../http/properties/requests.ts";
import { counted, makeWorld } from "../http/properties/world.ts";
import { collectGarbage } from "../support/garbage.ts";
import { type Service, startService } from "../support/service.ts";

/** Bytes of the heap that are reachable, once what ends by itself has ended. */
async function heapInUse(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let pass = 0; pass < 4; pass++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    least = Math.min(least, process.memoryUsage().heapUsed);
  }
  return least;
}

const perRound = 100;
const rounds = 24;
/** The first rounds fill caches and compile. */
const roundsUntilSettled = 12;
/** Far above what a heap varies by over the other rounds, and below what they would keep if each request left a KiB behind. */
const maxGrowth = 1024 * 1024;

let service: Service;
beforeAll(async () => {
  // The log's lines are kept by other tests; here they would be the leak.
  service = await startService({ config: counted, overrides: { log: pino({ level: "error" }) } });
});

it("memory stays flat over hundreds of requests that are bent out of shape", async () => {
  const world = await makeWorld(service);
  const all = (await allBindings()).map((binding) => requestFor(binding, world));
  // Streams that follow end when their client leaves, a little later than it does.
  const requests: RawRequest[] = fc
    .sample(fc.oneof(...all), { seed: 20_261_121, numRuns: perRound })
    .filter(({ target }) => !target.includes("/stream"));
  const used: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < requests.length; at += 8) {
      await Promise.all(requests.slice(at, at + 8).map((request) => exchange(service.url, request)));
    }
    used.push(await heapInUse());
  }
  const [settled = 0, ...later] = used.slice(roundsUntilSettled);
  const growth = Math.min(...later.slice(-2)) - settled;
  const shown = used.map((bytes) => `${Math.round(bytes / 1024)} KiB`).join(", ");
  expect(growth, `in use after each round: ${shown}`).toBeLessThan(maxGrowth);
});

it("a small buffer that stays in memory keeps at most 8 KiB there", () => {
  // Node goes on cutting from the buffer that it has begun.
  for (let bytes = 0; bytes < 64 * 1024; bytes += 1024) Buffer.allocUnsafe(1024);
  expect(Buffer.from("small").buffer.byteLength).toBeLessThanOrEqual(8 * 1024);
});
