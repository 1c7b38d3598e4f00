import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ContextKey } from "@connectrpc/connect";
import type { CallLimits } from "../limits/call-limits.ts";

/** The methods of a service by their local names, as Connect's router takes them. */
export type Implementation = Readonly<Record<string, unknown>>;

/** What the transport needs to know of the services; app.ts hands it over. */
export interface ServiceTable {
  services: { service: DescService; implementation: Implementation }[];
  /**
   * Finds who calls; never called for public operations.
   * @param header gives the value of a request header, by its lower-case name
   * @throws StoaError `unauthorized`
   */
  authenticate(rpc: DescMethod, header: (name: string) => string | null, signal: AbortSignal): Promise<unknown>;
  /** Under this key the services find what `authenticate` returned. */
  callerKey: ContextKey<unknown>;
  /** The id of the agent that `authenticate` returned; undefined where it is no agent. */
  agentOf(caller: unknown): number | undefined;
  /** Under this key the services find the call's limits; nothing where there are none. */
  limitsKey: ContextKey<CallLimits | undefined>;
}
