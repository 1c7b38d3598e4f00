import { type DescField, type DescMethod, type DescService, getOption } from "@bufbuild/protobuf";
import { field as fieldRules } from "../../../gen/buf/validate/validate_pb.js";
import { type Binding, bindingsOf } from "../../contract/bindings.ts";

/** The contract as the guide cites it: by the names of calls, as REST shows them. */
export class Contract {
  /** The REST bindings of each RPC that has some, in the contract's order. */
  readonly calls: ReadonlyMap<string, readonly Binding[]>;

  constructor(services: readonly DescService[]) {
    const calls = new Map<string, Binding[]>();
    for (const binding of services.flatMap((service) => bindingsOf(service))) {
      const name = nameOf(binding.rpc);
      calls.set(name, [...(calls.get(name) ?? []), binding]);
    }
    this.calls = calls;
  }

  /** The path of `PostService.GetPost`, its variables filled. @throws Error when there is no such call or variable */
  path(call: string, values: Readonly<Record<string, string>> = {}): string {
    const given = new Set(Object.keys(values));
    const path = this.#first(call).template.replace(/\{([^{}=]+)[^{}]*\}/g, (_, variable: string) => {
      const value = values[variable];
      if (!given.delete(variable) || value === undefined) throw new Error(`${call} has a {${variable}} to be filled.`);
      return value;
    });
    if (given.size > 0) throw new Error(`${call} has no {${[...given].join("}, {")}}.`);
    return path;
  }

  /** An input of a call, `PostService.ListPosts.limit`. @throws Error when there is none */
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

/** The rules of a field, by buf.validate. */
export function rulesOf(field: DescField) {
  return getOption(field, fieldRules);
}

function nameOf({ parent, name }: DescMethod): string {
  return `${parent.name}.${name}`;
}
