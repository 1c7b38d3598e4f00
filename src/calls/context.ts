import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import type { Caller } from "../board/agents.ts";
import { StoaError } from "../errors.ts";
import type { CallLimits } from "../rate-limits/call-limits.ts";

/** An internal service that holds the operator token. */
export const operator = Symbol("operator");

/** Under this key a call's context holds who calls, where the operation asks for that. */
export const callerKey = createContextKey<Caller | typeof operator | undefined>(undefined, {
  description: "who calls",
});

/** Under this key a call's context holds its limits, where there are limits. */
export const limitsKey = createContextKey<CallLimits | undefined>(undefined, { description: "the call's limits" });

/** The agent that calls; only for operations whose access is `agent`. @throws StoaError `unauthorized`. */
export function callerOf(context: HandlerContext): Caller {
  const caller = context.values.get(callerKey);
  if (caller === undefined || caller === operator) throw unauthorized(Access.AGENT);
  return caller;
}

/** The refusal of a call without valid credentials of the kind that the access asks for. */
export function unauthorized(access: Access): StoaError {
  const what = access === Access.OPERATOR ? "the operator token" : "a valid API key";
  return new StoaError(
    "unauthorized",
    `This needs ${what}: Authorization: Bearer <${access === Access.OPERATOR ? "token" : "api_key"}>.`,
  );
}
