import { Code, ConnectError } from "@connectrpc/connect";
import type { Outcome } from "../../calls/call.ts";
import { toStoaError } from "../../calls/error-mapping.ts";
import { errorStatus } from "../../errors.ts";

/** The outcome that an error stands for. */
export function outcomeOf(error: unknown): Outcome {
  return error instanceof ConnectError && error.code === Code.Canceled ? "canceled" : toStoaError(error).code;
}

/** Whether the caller is at fault for an outcome. A call that comes too soon is not a fault. */
export function isFault(outcome: Outcome): boolean {
  if (outcome === "ok" || outcome === "canceled") return false;
  return outcome === "refused" || (errorStatus[outcome] < 500 && outcome !== "rate_limited");
}
