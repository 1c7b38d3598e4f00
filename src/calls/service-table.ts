import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ContextKey } from "@connectrpc/connect";
import type { CallLimits } from "../rate-limits/call-limits.ts";

/** The methods of a service by their local names, as Connect's router takes them. */
export type Implementation = Readonly<Record<string, unknown>>;

/** An API key that somebody shows; of the form of one, whether or not it was ever given out. */
export type ShownKey = object;

/** Whose key it is. A key that is past is not good, but may be good for one call. */
export interface KeyHolder {
  agent: { id: number };
  standing: "current" | "grace" | "past";
}

/** What is known of API keys; services/api-keys.ts says more. */
export interface Keys {
  shown(authorization: string | null): ShownKey | undefined;
  agentOf(key: ShownKey): number | undefined;
  findUnknown(key: ShownKey, mayBeRemembered: boolean, signal?: AbortSignal): Promise<KeyHolder | undefined>;
  find(key: ShownKey, signal: AbortSignal): Promise<KeyHolder | undefined>;
}

/** What the transport needs to know of the services; app.ts hands it over. */
export interface ServiceTable {
  services: { service: DescService; implementation: Implementation }[];
  readonly keys: Keys;
  /**
   * Finds who calls; never called for public operations.
   * @param holder whose key the call shows, as far as `keys` has found it
   * @param header gives the value of a request header, by its lower-case name
   * @throws StoaError `unauthorized`
   */
  authenticate(
    rpc: DescMethod,
    holder: KeyHolder | undefined,
    header: (name: string) => string | null,
    signal: AbortSignal,
  ): Promise<unknown>;
  /** Begins the time that a call has, where it waits before it is made. @returns the time in milliseconds */
  beginCall(signal: AbortSignal): number;
  /** Under this key the services find what `authenticate` returned. */
  callerKey: ContextKey<unknown>;
  /** Under this key the services find the call's limits; nothing where there are none. */
  limitsKey: ContextKey<CallLimits | undefined>;
}
