import type { Outcome } from "../../calls/call.ts";
import { errorStatus } from "../../errors.ts";

/** Whether the caller is at fault for an outcome. A call that comes too soon is not a fault. */
export function isFault(outcome: Outcome): boolean {
  if (outcome === "ok" || outcome === "canceled") return false;
  return outcome === "refused" || (errorStatus[outcome] < 500 && outcome !== "rate_limited");
}
