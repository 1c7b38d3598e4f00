// What the contract has, read from its descriptors, so that what is added to it is tested without a word here.
import { readdirSync } from "node:fs";
import { type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { type Access, access, success_status } from "../../../gen/stoa/v1/options_pb.js";

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

/** Every service of the contract, the operator's too. */
export async function allServices(): Promise<DescService[]> {
  const folder = new URL("../../../gen/stoa/v1/", import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith("_pb.js"));
  const modules = await Promise.all(files.map((name) => import(new URL(name, folder).href)));
  return modules
    .flatMap((each) => Object.values(each))
    .filter((each): each is DescService => (each as { kind?: string } | null)?.kind === "service");
}

/** Every way to call an RPC over REST. */
export async function allBindings(): Promise<RestBinding[]> {
  const rpcs = (await allServices()).flatMap(({ methods }) => methods).filter((rpc) => hasOption(rpc, http));
  return rpcs.flatMap((rpc) => {
    const rule = getOption(rpc, http);
    return [rule, ...rule.additionalBindings].map(({ pattern, body }) => ({
      rpc,
      method: String(pattern.case).toUpperCase(),
      template: pattern.value as string,
      hasBody: body === "*",
      access: getOption(rpc, access),
      status: getOption(rpc, success_status) || 200,
    }));
  });
}
