import type { ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.js";
import { notFound } from "../../errors.ts";
import type { Readiness } from "../readiness.ts";

/**
 * gRPC's health protocol (https://github.com/grpc/grpc/blob/master/doc/health-checking.md) over what /readyz says.
 * @param names the services whose health may be asked for; they and the empty name, all of them, share one state
 */
export function createHealthService(names: readonly string[], readiness: Readiness): ServiceImpl<typeof Health> {
  const known = new Set(["", ...names]);
  const current = async () => ({ status: statusOf(await readiness.isServing()) });
  return {
    async check({ service }) {
      if (!known.has(service)) throw notFound("There is no service of this name.", "service");
      return current();
    },

    async *watch({ service }, { signal }) {
      if (!known.has(service)) yield { status: Status.SERVICE_UNKNOWN };
      for await (const serving of readiness.watch(signal)) {
        // A service that is not in this process will not appear in it; the stream goes on all the same.
        if (known.has(service)) yield { status: statusOf(serving) };
      }
    },

    async list() {
      const status = await current();
      return { statuses: Object.fromEntries([...known].map((name) => [name, status])) };
    },
  };
}

function statusOf(serving: boolean): Status {
  return serving ? Status.SERVING : Status.NOT_SERVING;
}
