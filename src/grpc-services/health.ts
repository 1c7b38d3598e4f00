import type { ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.js";
import { badInput, notFound } from "../errors.ts";
import type { Readiness } from "./readiness.ts";

/** The maximum length of a service's name, in characters. It bounds what a watch keeps in memory. */
const maxNameLength = 256;

/**
 * gRPC's health protocol (https://github.com/grpc/grpc/blob/master/doc/health-checking.md). Its state is that of /readyz.
 * @param names the services that clients may ask about. They share one state, and the empty name stands for all of them
 */
export function createHealthService(names: readonly string[], readiness: Readiness): ServiceImpl<typeof Health> {
  const known = new Set(["", ...names]);
  const current = async () => ({ status: statusOf(await readiness.isServing()) });
  return {
    check({ service }) {
      if (!known.has(service)) throw notFound("There is no service with this name.", "service");
      return current();
    },

    // This is not a generator. A generator would keep the request, and a long name in it, as long as the stream is open.
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

/** The protocol asks to keep the stream open for an unknown service, although none will appear in this process. */
async function* watchUnknown(readiness: Readiness, signal: AbortSignal) {
  yield { status: Status.SERVICE_UNKNOWN };
  // Like every watch, this ends by throwing.
  for (const changes = readiness.watch(signal); ; ) await changes.next();
}

function statusOf(serving: boolean): Status {
  return serving ? Status.SERVING : Status.NOT_SERVING;
}
