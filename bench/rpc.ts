// gRPC without a database: the service's transport and Connect's own handlers beside the gRPC project's server.
import { create } from "@bufbuild/protobuf";
import { Health, HealthCheckRequestSchema } from "../gen/grpc/health/v1/health_pb.js";
import type { Case } from "./cases.ts";
import { startProgram } from "./environment.ts";
import { measureAll } from "./measure.ts";
import { watch } from "./memory.ts";
import { protocols } from "./protocols.ts";
import { describeMachine, type Report, reportComparison } from "./report.ts";
import type { Run } from "./run.ts";

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

export async function benchRpc(run: Run): Promise<{ report: Report; text: string }> {
  const { options, signal, cleanUp } = run;
  const machine = describeMachine("no database");
  const [grpc] = protocols.filter(({ name }) => name === "grpc");
  if (grpc === undefined) throw new Error("There is no protocol grpc.");
  const reference = { ...grpc, name: "grpc-js", side: "baseline" as const };
  const start = (program: string, settings = {}) => watch(startProgram(program, options, signal, settings), cleanUp);
  const baseline = await start("rpc/grpc-js.ts");
  const service = await start("rpc/transport.ts");
  const protocol = { ...grpc, name: "service" };
  const programs = { baseline, service };
  const measurements = await measureAll([health], [protocol], programs, run, reference);
  const ratio = measurements.find(({ protocol }) => protocol === "service")?.ratio as number;
  const missed =
    ratio >= minShare ? [] : [`gRPC without a database reaches ${ratio.toFixed(2)} of grpc-js, not ${minShare}`];
  return reportComparison(
    { ...run, machine },
    { measurements, residentMiB: service.memory.peak(), missed },
    { unit: "calls", ratio: "share of the throughput of @grpc/grpc-js with the messages of the same library" },
  );
}
