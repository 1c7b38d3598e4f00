import type { ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.js";
import { badInput, notFound } from "../../errors.ts";
import type { Readiness } from "../health/readiness.ts";

/** No service has a longer name, in characters; a watch keeps nothing that long. */
const maxNameLength = 256;

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

    // Not itself a generator: that would keep the request, and with it a name of any length, as long as the stream is open.
    watch({ service }, { signal }) {
      if (service.length > maxNameLength) {
        throw badInput("service", `service must have at most ${maxNameLength} characters.`);
      }
      return known.has(service) ? watchKnown(readiness, signal) : watchUnknown(readiness, signal);
    },

    async list() {
      const status = await current();
      return { statuses: Object.fromEntries([...known].map((name) => [name, status])) };
    },
  };
}

async function* watchKnown(readiness: Readiness, signal: AbortSignal) {
  for await (const serving of readiness.watch(signal)) yield { status: statusOf(serving) };
}

/** A service that is not in this process will not appear in it; the protocol asks to keep the stream open all the same. */
async function* watchUnknown(readiness: Readiness, signal: AbortSignal) {
  yield { status: Status.SERVICE_UNKNOWN };
  // It ends, by throwing, as every watch does.
  for (const changes = readiness.watch(signal); ; ) await changes.next();
}

function statusOf(serving: boolean): Status {
  return serving ? Status.SERVING : Status.NOT_SERVING;
}
