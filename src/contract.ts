import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { Access, access } from "../gen/stoa/v1/options_pb.js";

/*
 * What the contract's options say of an RPC. Options are decoded at each look, which takes longer than all else that a call
 * looks up: they are kept here.
 */

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
