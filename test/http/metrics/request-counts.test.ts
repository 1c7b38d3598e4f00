import { Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { RequestCounts } from "../../../src/http/metrics/request-counts.ts";

const name = "durations";
const help = "How long it takes.";
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

it("shows durations as the library's own histogram does", async () => {
  const library = new Registry();
  const expected = new Histogram({ name, help, labelNames: ["operation"], buckets, registers: [library] });
  const requests = new RequestCounts();
  const own = new Registry();
  own.registerMetric(requests.histogram(name, help) as never);
  for (const seconds of [0, 0.0001, 0.001, 0.0011, 0.5, 9.99, 10, 10.01, 600]) {
    for (const operation of seconds < 1 ? ["Read", "Write"] : ["Read"]) {
      expected.observe({ operation }, seconds);
      requests.time(operation, seconds);
    }
  }
  expect(await own.metrics()).toBe(await library.metrics());
  const [actual] = await own.getMetricsAsJSON();
  expect(actual).toMatchObject({ name, help, type: "histogram", aggregator: "sum" });
  expect(actual?.values).toHaveLength(2 * (buckets.length + 3));
});

it("counts by operation, protocol and outcome", () => {
  const requests = new RequestCounts();
  requests.count("Read", "rest", "ok");
  requests.count("Read", "rest", "ok");
  requests.count("Read", "rest", "not_found");
  requests.count("Read", "grpc", "ok");
  const of = (protocol: string, code: string, count: number) => ({
    labels: { operation: "Read", protocol, code },
    count,
  });
  expect([...requests.counted()]).toEqual([of("rest", "ok", 2), of("rest", "not_found", 1), of("grpc", "ok", 1)]);
});
