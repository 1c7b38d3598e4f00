import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { file_stoa_v1_error } from "../../../gen/stoa/v1/error_pb.js";
import type { ServiceTable } from "../../calls/service-table.ts";
import type { Readiness } from "../health/readiness.ts";
import { Descriptors } from "./descriptors.ts";
import { createHealthService } from "./health.ts";
import { createReflectionService } from "./reflection.ts";

/** The services that every gRPC server has for its tools. They are public, and no part of the contract or of REST. */
export function createToolServices(
  { services }: Pick<ServiceTable, "services">,
  readiness: Readiness,
  shutdown: AbortSignal,
) {
  const contract = services.map(({ service }) => service);
  const tools = [Health, ServerReflection, ServerReflectionAlpha];
  // Failures carry an ErrorDetail, which no message of the services mentions.
  const descriptors = new Descriptors([...contract, ...tools], [file_stoa_v1_error]);
  const names = contract.map(({ typeName }) => typeName);
  const reflection = createReflectionService(descriptors, { shutdown });
  return [
    { service: Health, implementation: { ...createHealthService(names, readiness) } },
    { service: ServerReflection, implementation: { ...reflection } },
    // The same messages under another package.
    { service: ServerReflectionAlpha, implementation: { ...reflection } },
  ] satisfies ServiceTable["services"];
}
