import { type DescField, type DescMethod, type DescService, hasOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { Access, success_status } from "../../gen/stoa/v1/options_pb.js";
import { getOption } from "./options.ts";
import { compilePathTemplate, type PathTemplate } from "./path-template.ts";
import { rulesOf } from "./rules.ts";

/** One way to call an RPC over REST, from its google.api.http annotation. */
export interface Binding {
  rpc: DescMethod;
  httpMethod: string;
  path: PathTemplate;
  /** The path template of the contract, such as /api/v1/posts/{id}. */
  template: string;
  /** The target of the JSON body: the whole message, one field, or nothing (the body is ignored). */
  body: "*" | DescField | undefined;
  /** The field that is sent as the response; undefined for the whole message. */
  responseBody: DescField | undefined;
  /** The HTTP status of a successful call. */
  status: number;
}

/** All bindings of a service, including additional ones. @throws Error for an invalid annotation */
export function bindingsOf(service: DescService): Binding[] {
  return service.methods
    .filter((rpc) => hasOption(rpc, http))
    .flatMap((rpc) => {
      const rule = getOption(rpc, http);
      return [rule, ...rule.additionalBindings].map((each) => toBinding(rpc, each));
    });
}

function toBinding(rpc: DescMethod, rule: HttpRule): Binding {
  const { case: kind, value: pattern } = rule.pattern;
  if (kind === undefined) throw new Error(`${rpc.parent.typeName}.${rpc.name} has an HTTP rule without a path.`);
  const [httpMethod, template] = kind === "custom" ? [pattern.kind, pattern.path] : [kind.toUpperCase(), pattern];
  const path = compilePathTemplate(template);
  for (const names of path.fields) {
    const kind = fieldAt(rpc, names)?.fieldKind;
    if (kind !== "scalar" && kind !== "enum") {
      throw new Error(`${template}: ${rpc.input.typeName} has no ${names.join(".")} that a path could hold.`);
    }
  }
  return {
    rpc,
    httpMethod,
    path,
    template,
    body: rule.body === "" ? undefined : rule.body === "*" ? "*" : mustHave(rpc.input, rule.body),
    responseBody: rule.responseBody === "" ? undefined : mustHave(rpc.output, rule.responseBody),
    status: getOption(rpc, success_status) || 200,
  };
}

/** Finds the field at a path of names. */
export function fieldAt(rpc: DescMethod, names: string[]): DescField | undefined {
  let message: DescMethod["input"] | undefined = rpc.input;
  let field: DescField | undefined;
  for (const name of names) {
    field = message?.fields.find((each) => each.name === name);
    if (field === undefined) return undefined;
    message = field.fieldKind === "message" ? field.message : undefined;
  }
  return field;
}

function mustHave(message: DescMethod["input"], name: string): DescField {
  const field = message.fields.find((each) => each.name === name);
  if (field === undefined) throw new Error(`${message.typeName} has no field ${name}.`);
  return field;
}

/** Whether a binding is a read that anybody may make. Pages of other origins may read its response. */
export function isPublicRead({ rpc, httpMethod }: Binding): boolean {
  return httpMethod === "GET" && rulesOf(rpc).access === Access.PUBLIC;
}

/** Whether the responses of a binding have an ETag. */
export function isTaggedRead(binding: Binding): boolean {
  return isPublicRead(binding) && binding.rpc.methodKind === "unary";
}
