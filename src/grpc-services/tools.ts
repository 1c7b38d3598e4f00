import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.js";
import { Health } from "../../gen/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { file_stoa_v1_error } from "../../gen/stoa/v1/error_pb.js";
import type { ServiceTable } from "../calls/service-table.ts";
import { Descriptors } from "./descriptors.ts";
import { createHealthService } from "./health.ts";
import type { Readiness } from "./readiness.ts";
import { createReflectionService } from "./reflection.ts";

/** The standard services for gRPC tools. They are public. They belong neither to the contract nor to REST. */
export function createToolServices(
  { services }: Pick<ServiceTable, "services">,
  readiness: Readiness,
  shutdown: AbortSignal,
) {
  const contract = services.map(({ service }) => service);
  const tools = [Health, ServerReflection, ServerReflectionAlpha];
  // No message of the services refers to the messages that errors carry, so they are added here.
  const descriptors = new Descriptors([...contract, ...tools], [file_stoa_v1_error, file_google_rpc_error_details]);
  const names = contract.map(({ typeName }) => typeName);
  const reflection = createReflectionService(descriptors, shutdown);
  return [
    { service: Health, implementation: { ...createHealthService(names, readiness) } },
    { service: ServerReflection, implementation: { ...reflection } },
    // v1alpha has the same messages in another package.
    { service: ServerReflectionAlpha, implementation: { ...reflection } },
  ] satisfies ServiceTable["services"];
}
