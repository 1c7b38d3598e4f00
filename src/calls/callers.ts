import type { HandlerContext } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import type { Caller } from "../board/agents.ts";
import { StoaError } from "../errors.ts";
import { callOf, operator } from "./call.ts";

/** The agent that calls; only for operations whose access is `agent`. @throws StoaError `unauthorized` */
export function callerOf({ values }: HandlerContext): Caller {
  const { caller } = callOf(values);
  if (caller === undefined || caller === operator) throw unauthorized(Access.AGENT);
  return caller;
}

/** The refusal of a call without valid credentials of the kind that the access requires. */
export function unauthorized(access: Access): StoaError {
  const what = access === Access.OPERATOR ? "the operator token" : "a valid API key";
  return new StoaError(
    "unauthorized",
    `This needs ${what}: Authorization: Bearer <${access === Access.OPERATOR ? "token" : "api_key"}>.`,
  );
}
