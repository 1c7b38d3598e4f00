import { ConnectError } from "@connectrpc/connect";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { outcomeOf, toConnectError } from "../../calls/error-mapping.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import { StoaError } from "../../errors.ts";
import type { Admission, Admit } from "../admission/admission.ts";
import type { RequestContext } from "../requests/context.ts";

/** How the calls of a service outside the contract are admitted, such as those of reflection. */
export function admitToTool(admission: Admission, { service }: ServiceTable["services"][number]): Admit {
  // A client that watches the service's health is never told to wait.
  const isCounted = service.typeName !== Health.typeName;
  return (context) => (isCounted ? admission.visit(context) : admission.identify(context));
}

/** Records, logs and maps a failure that no interceptor has seen, such as that of an admission. @returns a Connect error */
export function refuse(context: RequestContext, error: unknown): ConnectError {
  const isKnown = error instanceof ConnectError || error instanceof StoaError;
  if (!isKnown) context.log.error({ err: error }, "a request failed");
  context.notes.outcome = outcomeOf(error);
  return toConnectError(error);
}
