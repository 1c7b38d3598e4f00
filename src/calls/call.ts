import type { DescMethod } from "@bufbuild/protobuf";
import { type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import type { FastifyBaseLogger } from "fastify";
import type { Caller } from "../board/agents.ts";
import type { ErrorCode } from "../errors.ts";
import type { RequestLimits } from "../rate-limits/request-limits.ts";
import type { Cancellation } from "../timing/wait.ts";
import { beginCall, type CallSpan } from "../tracing/tracing.ts";

/** An internal service that holds the operator token. */
export const operator = Symbol("operator");

/**
 * What became of a request, for the metrics and the log. `canceled`: the caller gave up. `refused`: a message could not be
 * read, before there was a call.
 */
export type Outcome = "ok" | ErrorCode | "canceled" | "refused";

/** The address of a client as it is, and the form in which limits count it. */
export interface ClientAddress {
  readonly address: string;
  /** An IPv4 address, or the /64 network of an IPv6 address. */
  readonly counted: string;
}

/** Who makes a call. */
export interface Admitted {
  /** The agent whose good API key the request shows, also on a public operation. Only its own limits apply then. */
  readonly agent: number | undefined;
  /** Who calls, where the operation requires credentials. */
  readonly caller: Caller | typeof operator | undefined;
}

/** What the request of a call gives to it. A request is the cancellation of its calls: most calls need no signal. */
export interface CallOrigin extends Cancellation {
  readonly client: ClientAddress;
  readonly limits: RequestLimits;
  /** The same cancellation as a signal, which is made only where it is needed. */
  readonly signal: AbortSignal;
  /** A log whose lines carry the request id. */
  readonly log: FastifyBaseLogger;
}

/** A call as services, idempotency and interceptors know it. It is complete when it is made, and knows no HTTP. */
export interface Call extends Admitted {
  readonly origin: CallOrigin;
  /** The span of the call; undefined while tracing is off. */
  readonly span: CallSpan | undefined;
}

/** Makes a call, and begins its span while tracing is on. @param headers of its request, which may name the caller's span */
export function createCall(origin: CallOrigin, rpc: DescMethod, { agent, caller }: Admitted, headers: object): Call {
  return { origin, agent, caller, span: beginCall({ service: rpc.parent.typeName, method: rpc.name }, headers) };
}

/** The one key under which a call's context values hold it. */
const callKey = createContextKey<Call | undefined>(undefined, { description: "the call" });

export function contextValuesOf(call: Call): ContextValues {
  return createContextValues().set(callKey, call);
}

/** The call that context values belong to. @throws Error where it was made without one */
export function callOf(values: ContextValues): Call {
  const call = values.get(callKey);
  if (call === undefined) throw new Error("These values belong to no call.");
  return call;
}
