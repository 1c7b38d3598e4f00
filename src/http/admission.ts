import type { DescMethod } from "@bufbuild/protobuf";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { accessOf } from "../contract.ts";
import type { CallLimits } from "../limits/call-limits.ts";
import type { Gate } from "./limits/gate.ts";
import type { ServiceTable } from "./services.ts";

/** A call before its message is read. */
export interface Arrival {
  rpc: DescMethod;
  table: ServiceTable;
  /** Gives the value of a request header, by its lower-case name. */
  header(name: string): string | null;
  signal: AbortSignal;
}

/**
 * Lets a call in, whatever its protocol: finds who makes it, where the contract asks for that (undefined elsewhere), and
 * counts it where there are limits. It answers at once where nobody has to be looked up.
 * @throws StoaError `unauthorized`, `rate_limited`
 */
export function admit(arrival: Arrival, gate: Gate | undefined, limits: CallLimits | undefined): unknown {
  if (gate !== undefined && limits !== undefined) return gate.admit(limits, arrival);
  return accessOf(arrival.rpc) === Access.PUBLIC ? undefined : authenticate(arrival);
}

/** @throws StoaError `unauthorized` */
export function authenticate({ rpc, table, header, signal }: Arrival): Promise<unknown> {
  return table.authenticate(rpc, header, signal);
}
