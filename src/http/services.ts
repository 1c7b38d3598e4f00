import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import type { ContextKey } from "@connectrpc/connect";
import { Access, access } from "../../gen/stoa/v1/options_pb.js";

/** The methods of a service by their local names, as Connect's router takes them. */
export type Implementation = Readonly<Record<string, unknown>>;

/** What the transport needs to know of the services; app.ts hands it over. */
export interface ServiceTable {
  services: { service: DescService; implementation: Implementation }[];
  /**
   * Finds who calls, by the value of the Authorization header; never called for public operations.
   * @throws StoaError `unauthorized`
   */
  authenticate(access: Access, authorization: string | null, signal: AbortSignal): Promise<unknown>;
  /** Under this key the services find what `authenticate` returned. */
  callerKey: ContextKey<unknown>;
}

const accesses = new WeakMap<DescMethod, Access>();

/** Who may call an RPC. @throws Error when the contract does not say: the service does not start then. */
export function accessOf(rpc: DescMethod): Access {
  let value = accesses.get(rpc);
  if (value === undefined) {
    value = getOption(rpc, access);
    if (value === Access.UNSPECIFIED)
      throw new Error(`${rpc.parent.typeName}.${rpc.name} does not say who may call it.`);
    accesses.set(rpc, value);
  }
  return value;
}
