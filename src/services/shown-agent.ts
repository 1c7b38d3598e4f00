import type { HandlerContext } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { callOf, unauthorized } from "../calls/call.ts";
import type { ApiKeys } from "./api-keys.ts";

/**
 * The agent of a call to a public operation, for requests that need one (see `needs_agent` in the contract). Its key is looked
 * up anew.
 * @throws StoaError `unauthorized`, `rate_limited`
 */
export async function shownAgent(context: HandlerContext, keys: ApiKeys): Promise<number> {
  const { agent, origin } = callOf(context.values);
  const authorization = context.requestHeader.get("authorization");
  const key = authorization === null ? undefined : keys.shown(authorization);
  const call = { rpc: context.method, signal: context.signal };
  const holder = key === undefined || agent === undefined ? undefined : await keys.find(key, call);
  if (holder === undefined || holder.agent.id !== agent || holder.standing === "past") {
    origin.limits.enforceRefusals();
    if (key !== undefined) origin.limits.enforceCredentials();
    throw unauthorized(Access.AGENT);
  }
  return agent;
}
