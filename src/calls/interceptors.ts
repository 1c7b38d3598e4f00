import {
  Code,
  ConnectError,
  type ContextKey,
  type Interceptor,
  type StreamRequest,
  type UnaryRequest,
} from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { findViolation } from "../contract/field-rules.ts";
import { accessOf } from "../contract/rules.ts";
import { errorStatus, StoaError, StoredDamage } from "../errors.ts";
import { toConnectError, toStoaError } from "./error-mapping.ts";
import { boundLargeReads } from "./large-reads.ts";
import { logKey } from "./log.ts";
import type { ServiceTable } from "./service-table.ts";

type AnyRequest = UnaryRequest | StreamRequest;

/** The chain that every call runs through, whatever its protocol; the first is the outermost. */
export function createInterceptors(table: ServiceTable): Interceptor[] {
  return [mapErrors(table.limitsKey), requireCaller(table.callerKey), validate, boundLargeReads(table)];
}

/**
 * Every failure leaves as a Connect error, be it before a stream begins or in its midst. What was the caller's fault is
 * noted: floods of that are limited.
 */
export function mapErrors(limitsKey: ServiceTable["limitsKey"]): Interceptor {
  return (next) => async (request) => {
    const limits = request.contextValues.get(limitsKey);
    const map = (error: unknown) => {
      const failure = mapError(error, request);
      if (limits !== undefined) limits.faulty = isFault(failure);
      return failure;
    };
    if (limits !== undefined) limits.faulty = false;
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: mapErrorsOf(response.message, map) };
    } catch (error) {
      throw map(error);
    }
  };
}

/** Whether a failure is the caller's fault, other than that of calling too soon. */
export function isFault(error: unknown): boolean {
  const { code } = toStoaError(error);
  return errorStatus[code] < 500 && code !== "rate_limited";
}

async function* mapErrorsOf<T>(messages: AsyncIterable<T>, map: (error: unknown) => ConnectError): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (error) {
    throw map(error);
  }
}

/** What Node throws where a request or a reply loses its connection. The database's errors never get here as they are. */
const lostConnection = ["ECONNRESET", "EPIPE", "ECANCELED", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED"];

/** Unknown failures are logged here, once. A client that goes away is none. */
function mapError(error: unknown, { service, method, signal, contextValues }: AnyRequest): ConnectError {
  const isGivenUp = signal.aborted && error === signal.reason && !(error instanceof StoaError);
  if (isGivenUp || (error instanceof Error && lostConnection.includes((error as NodeJS.ErrnoException).code ?? ""))) {
    return ConnectError.from(error, Code.Canceled);
  }
  if (isForLog(error)) {
    contextValues.get(logKey)?.error({ err: error, rpc: `${service.typeName}/${method.name}` }, "a call failed");
  }
  return toConnectError(error);
}

/** Whether the operator has to know of a failure, rather than the caller alone. */
export function isForLog(error: unknown): boolean {
  if (error instanceof StoredDamage) return true;
  return !(error instanceof ConnectError) && !(error instanceof StoaError && error.code !== "internal");
}

/** Enforces the contract's access rule: whoever comes without having been authenticated before goes no further. */
function requireCaller(callerKey: ContextKey<unknown>): Interceptor {
  return (next) => (request) => {
    if (accessOf(request.method) !== Access.PUBLIC && request.contextValues.get(callerKey) === undefined) {
      throw new StoaError("unauthorized", "This needs credentials.");
    }
    return next(request);
  };
}

/** Runs the field rules on each message of a call. */
const validate: Interceptor = (next) => async (request) => {
  if (request.stream) return next({ ...request, message: validateEach(request) });
  check(request, request.message);
  return next(request);
};

async function* validateEach(request: StreamRequest) {
  for await (const message of request.message) {
    check(request, message);
    yield message;
  }
}

function check({ method }: AnyRequest, message: UnaryRequest["message"]): void {
  const violation = findViolation(method.input, message);
  if (violation !== undefined) throw violation;
}
