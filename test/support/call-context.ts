import type { IncomingMessage, ServerResponse } from "node:http";
import type { ContextValues } from "@connectrpc/connect";
import { pino } from "pino";
import { contextValuesOf, RequestContext } from "../../src/calls/context.ts";
import { unlimitedRequest } from "../../src/rate-limits/request-limits.ts";

/** The context values of a call that a test makes without a server. */
export function callWithoutLimits(): ContextValues {
  const client = { address: "127.0.0.1", counted: "127.0.0.1" };
  const log = pino({ level: "silent" });
  const request = {} as IncomingMessage;
  const response = {} as ServerResponse;
  const route = { path: "/", rpc: undefined, limits: undefined };
  return contextValuesOf(
    new RequestContext({ request, response, id: "1", url: "/", route, log, client, limits: unlimitedRequest }),
  );
}
