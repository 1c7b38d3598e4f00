import { createContextKey } from "@connectrpc/connect";
import type { FastifyBaseLogger } from "fastify";

/** Under this key a call's context holds its log, whose lines carry the request id. */
export const logKey = createContextKey<FastifyBaseLogger | undefined>(undefined, { description: "the call's log" });
