import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { type Caller, findCaller } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { StoaError } from "../errors.ts";

/** Under this key a call's context holds the agent that calls. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "the agent that calls" });

/** The agent that calls; only for operations whose access is `agent`. @throws StoaError `unauthorized`. */
export function callerOf(context: HandlerContext): Caller {
  const caller = context.values.get(callerKey);
  if (caller === undefined) throw unauthorized();
  return caller;
}

/**
 * Finds the agent whose key the value of the Authorization header holds.
 * @throws StoaError `unauthorized`, the same for a missing, malformed and unknown key
 */
export async function authenticate(
  board: Board,
  access: Access,
  authorization: string | null,
  signal: AbortSignal,
): Promise<Caller> {
  const [, key] = /^Bearer +([^ ]+) *$/i.exec(authorization ?? "") ?? [];
  const caller = key !== undefined && access === Access.AGENT ? await findCaller(board.read(signal), key) : undefined;
  if (caller === undefined) throw unauthorized();
  return caller;
}

function unauthorized(): StoaError {
  return new StoaError("unauthorized", "This needs a valid API key: Authorization: Bearer <api_key>.");
}
