import { Counter, Gauge, type MetricConfiguration, Registry } from "prom-client";
import { expect, it } from "vitest";
import { MergedMetrics, type MetricsSource } from "../../../src/http/metrics/merged-metrics.ts";

type Aggregator = NonNullable<MetricConfiguration<string>["aggregator"]>;

/** A process with one metric of each kind. */
function createSource(values: { counted: number; open: number; verified: number }) {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: "counted_total", help: "A counter.", labelNames: ["of"], registers }).inc(
    { of: "a" },
    values.counted,
  );
  new Gauge({ name: "open", help: "A gauge.", registers }).set(values.open);
  const aggregator = "max" as Aggregator;
  new Gauge({ name: "verified", help: "A time.", aggregator, registers }).set(values.verified);
  return { values: () => registry.getMetricsAsJSON() } satisfies MetricsSource;
}

async function samplesOf(merged: MergedMetrics): Promise<string[]> {
  return (await merged.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

it("sums what processes count, takes the newest of times, and keeps what a process has counted that has ended", async () => {
  const merged = new MergedMetrics();
  const one = createSource({ counted: 5, open: 2, verified: Number.NaN });
  const other = createSource({ counted: 7, open: 3, verified: 1000 });
  merged.add(one);
  expect(await samplesOf(merged)).toEqual(['counted_total{of="a"} 5', "open 2", "verified Nan"]);
  merged.add(other);
  expect(await samplesOf(merged)).toEqual(['counted_total{of="a"} 12', "open 5", "verified 1000"]);
  merged.remove(other);
  for (let read = 0; read < 2; read++) {
    expect((await samplesOf(merged)).sort()).toEqual(['counted_total{of="a"} 12', "open 2", "verified Nan"]);
  }
});

it("leaves out a process that does not answer, and shows its last values", async () => {
  const merged = new MergedMetrics();
  const source = createSource({ counted: 5, open: 2, verified: 1 });
  let isAway = false;
  merged.add({ values: () => (isAway ? Promise.reject(new Error("away")) : source.values()) });
  const before = await samplesOf(merged);
  isAway = true;
  expect(await samplesOf(merged)).toEqual(before);
});
