import type { DescField, DescMethod, DescService } from "@bufbuild/protobuf";
import { field as fieldRules } from "../../../gen/buf/validate/validate_pb.js";
import { type Binding, bindingsOf } from "../../contract/bindings.ts";
import { getOption } from "../../contract/options.ts";

/** The path of the API, below which most calls are. */
export const apiPrefix = "/api/v1";

/** The REST calls of the contract, which the guide refers to by the names of RPCs. */
export class Contract {
  /** The REST bindings of each RPC that has any, in the order of the contract. */
  readonly calls: ReadonlyMap<string, readonly Binding[]>;

  /** The public root address, without a trailing slash. */
  readonly siteUrl: string;

  constructor(services: readonly DescService[], siteUrl: string) {
    this.siteUrl = siteUrl;
    const calls = new Map<string, Binding[]>();
    for (const binding of services.flatMap((service) => bindingsOf(service))) {
      const name = nameOf(binding.rpc);
      calls.set(name, [...(calls.get(name) ?? []), binding]);
    }
    this.calls = calls;
  }

  /** The path of a call such as `PostService.GetPost`. @throws Error if there is no such call or variable */
  path(call: string, values: Readonly<Record<string, string>> = {}): string {
    const given = new Set(Object.keys(values));
    const path = this.#first(call).template.replace(/\{([^{}=]+)[^{}]*\}/g, (_, variable: string) => {
      const value = values[variable];
      if (!given.delete(variable) || value === undefined) throw new Error(`${call} needs a value for {${variable}}.`);
      return value;
    });
    if (given.size > 0) throw new Error(`${call} has no {${[...given].join("}, {")}}.`);
    return path;
  }

  /** An input of a call, such as `PostService.ListPosts.limit`. @throws Error if there is no such input */
  input(name: string): DescField {
    const [, call = "", field] = /^(\w+\.\w+)\.(\w+)$/.exec(name) ?? [];
    const found = this.#first(call).rpc.input.fields.find((each) => each.name === field);
    if (found === undefined) throw new Error(`The contract has no input ${name}.`);
    return found;
  }

  #first(call: string): Binding {
    const [binding] = this.calls.get(call) ?? [];
    if (binding === undefined) throw new Error(`The contract has no call ${call} over REST.`);
    return binding;
  }
}

/** The buf.validate rules of a field. */
export function rulesOf(field: DescField) {
  return getOption(field, fieldRules);
}

function nameOf({ parent, name }: DescMethod): string {
  return `${parent.name}.${name}`;
}
