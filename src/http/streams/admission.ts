import type { IncomingMessage, ServerResponse } from "node:http";
import { StoaError } from "../../errors.ts";
import { type Arrival, authenticate } from "../admission.ts";
import type { Gate } from "../limits/gate.ts";
import type { OpenStreams } from "./open-streams.ts";

export interface StreamArrival extends Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  /** Ends the call; see `NewStream`. */
  abort(reason: StoaError): void;
}

/**
 * Admits a streaming call that the limits have let in, before it begins.
 * @throws as `OpenStreams.add`
 */
export async function admitStream(streams: OpenStreams, gate: Gate | undefined, arrival: StreamArrival): Promise<void> {
  const { request, response, abort } = arrival;
  streams.add({ request, response, abort, agent: await agentOf(gate, arrival) });
}

/**
 * The agent whose good key a public call shows. Without rate limits nobody remembers keys: it is looked up, but for health
 * and reflection, which have no access rule of the contract's.
 */
async function agentOf(gate: Gate | undefined, arrival: Arrival): Promise<number | undefined> {
  const authorization = arrival.header("authorization");
  if (authorization === null) return undefined;
  if (gate !== undefined) return gate.knownAgent(authorization);
  if (arrival.table.services.every(({ service }) => service !== arrival.rpc.parent)) return undefined;
  try {
    return arrival.table.agentOf(await authenticate(arrival));
  } catch (error) {
    if (error instanceof StoaError && error.code === "unauthorized") return undefined;
    throw error;
  }
}
