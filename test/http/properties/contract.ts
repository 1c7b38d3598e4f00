// What the contract has, read from its descriptors, so that what is added to it is tested without a word here.
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { type Access, access } from "../../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../../scripts/lib/contract.ts";
import { bindingsOf } from "../../../src/contract/bindings.ts";

export interface RestBinding {
  rpc: DescMethod;
  method: string;
  /** As annotated, with variables in braces. */
  template: string;
  /** Whether fields travel in a JSON body. */
  hasBody: boolean;
  access: Access;
  /** The status of success. */
  status: number;
}

/** Every way to call an RPC over REST. */
export async function allBindings(): Promise<RestBinding[]> {
  const bindings = (await contractServices()).flatMap(bindingsOf);
  return bindings.map(({ rpc, httpMethod: method, template, body, status }) => {
    return { rpc, method, template, hasBody: body === "*", access: getOption(rpc, access), status };
  });
}
