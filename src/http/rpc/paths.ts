import type { DescMethod } from "@bufbuild/protobuf";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import type { RouteLimits } from "../requests/context.ts";

/** The address of an RPC in every protocol. */
export function rpcPath({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

/** How the requests of an RPC are limited: health checks never, others when it is known who calls. */
export function rpcLimits({ parent }: DescMethod): RouteLimits {
  return parent.typeName === Health.typeName ? "none" : "rpc";
}
