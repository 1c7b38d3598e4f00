import type { DescMessage, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { checkRules } from "../contract/field-rules.ts";
import { rulesOf } from "../contract/rules.ts";
import { StoaError, StoredDamage } from "../errors.ts";
import { tracer } from "../tracing/tracing.ts";
import { type CallOrigin, callOf } from "./call.ts";
import { toConnectError } from "./error-mapping.ts";
import type { InterceptorsOf, RefuseKeys } from "./service-table.ts";
import { traceCalls } from "./trace-calls.ts";
import { UnaryContext } from "./unary-call.ts";

type AnyRequest = UnaryRequest | StreamRequest;

/** @param inner the interceptors after those that all calls have */
export function createInterceptors(refuseKeys: RefuseKeys, inner: InterceptorsOf = () => []): InterceptorsOf {
  const outer = [...(tracer === undefined ? [] : [traceCalls]), mapErrors];
  return (rpc) => {
    const needsCaller = rulesOf(rpc).access !== Access.PUBLIC;
    return [...outer, checkCalls(needsCaller, refuseKeys), ...inner(rpc)];
  };
}

/** Every failure leaves as a Connect error, before a stream begins and in the middle of it. */
export const mapErrors: Interceptor = (next) => async (call) => {
  // Not `origin.log`, which is made at its first use.
  const { origin } = callOf(call.contextValues);
  // A stream may wait for long, and keeps no more of its call than this.
  const failing = { service: call.service, method: call.method, signal: call.signal };
  try {
    const response = await next(call);
    if (!response.stream) return response;
    return { ...response, message: mapErrorsOf(response.message, (error) => mapError(error, failing, origin)) };
  } catch (error) {
    throw mapError(error, failing, origin);
  }
};

async function* mapErrorsOf<T>(messages: AsyncIterable<T>, map: (error: unknown) => ConnectError): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (error) {
    throw map(error);
  }
}

const lostConnection = [
  "ECONNRESET",
  "EPIPE",
  "ECANCELED",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
  "ERR_HTTP2_INVALID_STREAM",
];

/** Whether Node throws this when a request or a reply loses its connection. */
export function isLostConnection(error: unknown): boolean {
  return error instanceof Error && lostConnection.includes((error as NodeJS.ErrnoException).code ?? "");
}

type FailedCall = Pick<AnyRequest, "service" | "method" | "signal">;

/** Unknown failures are logged here, once. A client disconnect is not a failure. */
function mapError(error: unknown, { service, method, signal }: FailedCall, origin: CallOrigin): ConnectError {
  const isCanceled = signal.aborted && error === signal.reason && !(error instanceof StoaError);
  // Database errors have been mapped before.
  if (isCanceled || isLostConnection(error)) {
    return ConnectError.from(error, Code.Canceled);
  }
  if (isForLog(error)) {
    origin.log.error({ err: error, rpc: `${service.typeName}/${method.name}` }, "a call failed");
  }
  return toConnectError(error);
}

/** Whether the operator has to know of a failure, and not only the caller. */
function isForLog(error: unknown): boolean {
  if (error instanceof StoredDamage) return true;
  return !(error instanceof ConnectError) && !(error instanceof StoaError && error.code !== "internal");
}

/** A call without the caller that its operation requires goes no further, and neither does a message that breaks a rule. */
function checkCalls(needsCaller: boolean, refuseKeys: RefuseKeys): Interceptor {
  return (next) => async (request) => {
    if (needsCaller && callOf(request.contextValues).caller === undefined) {
      throw new StoaError("unauthorized", "This needs credentials.");
    }
    const { input } = request.method;
    if (request.stream) return next({ ...request, message: checkEach(input, request.message) });
    if (request instanceof UnaryContext && request.isChecked) return next(request);
    const keys = checkRules(input, request.message);
    if (keys.length > 0) await refuseKeys(keys, request.signal);
    return next(request);
  };
}

async function* checkEach(input: DescMessage, messages: AsyncIterable<Message>) {
  for await (const message of messages) {
    checkRules(input, message);
    yield message;
  }
}
