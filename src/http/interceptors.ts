import { ConnectError, type ContextKey, type Interceptor } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { StoaError } from "../errors.ts";
import { toConnectError } from "./error-mapping.ts";
import { logKey } from "./log.ts";
import { accessOf } from "./services.ts";
import { findViolation } from "./validation.ts";

/** The chain that every call runs through, whatever its protocol; the first is the outermost. */
export function createInterceptors(callerKey: ContextKey<unknown>): Interceptor[] {
  return [mapErrors, requireCaller(callerKey), validate];
}

/** Every failure leaves as a Connect error; unknown ones are logged here, once. */
const mapErrors: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    if (!(error instanceof ConnectError) && !(error instanceof StoaError && error.code !== "internal")) {
      const rpc = `${request.service.typeName}/${request.method.name}`;
      request.contextValues.get(logKey)?.error({ err: error, rpc }, "a call failed");
    }
    throw toConnectError(error);
  }
};

/** Enforces the contract's access rule: whoever comes without having been authenticated before goes no further. */
function requireCaller(callerKey: ContextKey<unknown>): Interceptor {
  return (next) => (request) => {
    if (accessOf(request.method) !== Access.PUBLIC && request.contextValues.get(callerKey) === undefined) {
      throw new StoaError("unauthorized", "This needs credentials.");
    }
    return next(request);
  };
}

/** Runs the field rules on the message of a call. Of streaming calls only server-streaming ones exist here: one message. */
const validate: Interceptor = (next) => async (request) => {
  if (!request.stream) {
    const violation = findViolation(request.method.input, request.message);
    if (violation !== undefined) throw violation;
  }
  return next(request);
};
