import type { ContextValues } from "@connectrpc/connect";
import { pino } from "pino";
import { type Call, type CallOrigin, contextValuesOf } from "../../src/calls/call.ts";
import { unlimitedRequest } from "../../src/rate-limits/request-limits.ts";

/** What a test gives to a call that it makes without a server. */
export function callOrigin(changes: Partial<CallOrigin> = {}): CallOrigin {
  const { signal } = new AbortController();
  const client = { address: "192.0.2.1", counted: "192.0.2.1" };
  return { client, limits: unlimitedRequest, signal, log: pino({ level: "silent" }), ...changes };
}

/** An anonymous call that a test makes without a server. */
export function anonymousCall(changes: Partial<Call> = {}): Call {
  return {
    origin: callOrigin(),
    agent: undefined,
    caller: undefined,
    idempotencyKey: null,
    span: undefined,
    ...changes,
  };
}

/** The context values of such a call. */
export function callWithoutLimits(): ContextValues {
  return contextValuesOf(anonymousCall());
}
