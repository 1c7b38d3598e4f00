// gRPC without a database: the service's transport and Connect's own handlers beside the gRPC project's server.
import { create } from "@bufbuild/protobuf";
import { Health, HealthCheckRequestSchema } from "../gen/grpc/health/v1/health_pb.js";
import type { Case } from "./cases.ts";
import { startProgram } from "./environment.ts";
import { measureAll } from "./measure.ts";
import { watch } from "./memory.ts";
import { concurrency, type Options } from "./options.ts";
import { protocols } from "./protocols.ts";
import {
  describeMachine,
  describeMemory,
  describeMissed,
  formatMachine,
  formatTable,
  missedMemory,
  type Report,
  spanSince,
} from "./report.ts";

/** The minimum throughput of the service's transport, as a share of the gRPC project's server. */
const minShare = 0.5;

const health: Case = {
  name: "health",
  kind: "read",
  calls: () => [
    {
      rest: { method: "GET", path: "/healthz" },
      rpc: { method: Health.method.check, message: create(HealthCheckRequestSchema) },
    },
  ],
};

type RpcReport = Omit<Report, "set"> & { set: { concurrency: number; rounds: number; roundSeconds: number } };

export async function benchRpc(
  options: Options,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<{ report: RpcReport; text: string }> {
  const started = Date.now();
  await using cleanUp = new AsyncDisposableStack();
  const machine = describeMachine("no database");
  const [grpc] = protocols.filter(({ name }) => name === "grpc");
  if (grpc === undefined) throw new Error("There is no protocol grpc.");
  const reference = { ...grpc, name: "grpc-js", side: "baseline" as const };
  const start = (program: string, settings = {}) => watch(startProgram(program, options, signal, settings), cleanUp);
  const baseline = await start("rpc/grpc-js.ts");
  const service = await start("rpc/transport.ts");
  const protocol = { ...grpc, name: "service" };
  const programs = { baseline, service };
  const measurements = await measureAll([health], [protocol], programs, { options, log, signal }, reference);
  const peak = service.memory.peak();
  const ratio = measurements.find(({ protocol }) => protocol === "service")?.ratio as number;
  const report: RpcReport = {
    ...spanSince(started),
    machine,
    set: { concurrency, rounds: options.rounds, roundSeconds: options.seconds },
    measurements,
    serviceResidentPeakMiB: peak,
    notes: [],
    missed: [
      ...(ratio >= minShare ? [] : [`gRPC without a database reaches ${ratio.toFixed(2)} of grpc-js, not ${minShare}`]),
      ...missedMemory(peak),
    ],
  };
  return { report, text: format(report) };
}

function format({ machine, measurements, set, serviceResidentPeakMiB, missed }: RpcReport): string {
  return [
    `medians of ${set.rounds} rounds of ${set.roundSeconds} s; ${set.concurrency} calls at once`,
    formatMachine(machine),
    "",
    ...formatTable(measurements, "calls"),
    "",
    "ratio: share of the throughput of @grpc/grpc-js with the messages of the same library, in the same round",
    describeMemory(serviceResidentPeakMiB),
    describeMissed(missed),
  ].join("\n");
}
