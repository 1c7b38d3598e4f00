import type { DescField, DescMethod } from "@bufbuild/protobuf";
import { comments } from "../../../gen/comments.js";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import type { Binding } from "../../contract/bindings.ts";
import { accessOf, limitOf } from "../../contract/rules.ts";
import type { Components } from "./components.ts";
import { parametersOf } from "./parameters.ts";
import { responsesOf } from "./responses.ts";
import { type Schema, withKeywords } from "./schema.ts";

/** What the description groups an RPC under: the name of its service. */
export function tagOf({ parent }: DescMethod): string {
  return parent.name.replace(/Service$/, "");
}

/** One way to call an RPC; `id` is unique among all. */
export function operationOf(
  binding: Binding,
  id: string,
  components: Components,
  shared: Record<string, Schema>,
): Schema {
  const { rpc } = binding;
  const parameters = parametersOf(binding, components);
  return withKeywords(
    {
      operationId: id,
      tags: [tagOf(rpc)],
      ...texts(rpc),
      // Whoever may call without a key need not send one.
      security: accessOf(rpc) === Access.PUBLIC ? [] : [{ apiKey: [] }],
    },
    {
      deprecated: rpc.deprecated || undefined,
      parameters: parameters.length > 0 ? parameters : undefined,
      requestBody: bodyOf(binding, components),
      responses: responsesOf(binding, components, shared),
    },
  );
}

/** The first sentence of the comment is the summary; all of it, and which limit it spends from, the description. */
function texts(rpc: DescMethod): { summary: string; description?: string } {
  const comment = comments[`${rpc.parent.typeName}.${rpc.name}`] ?? rpc.name.replace(/(?<=[a-z])(?=[A-Z])/g, " ");
  const [first = ""] = comment.split(/(?<=\.)\s/, 1);
  const summary = first.replace(/\.$/, "");
  const limit = limitOf(rpc);
  const spends = limit === undefined ? "" : `When it takes effect, it spends from the rate limit \`${limit}\`.`;
  if (first.length === comment.length && spends === "") return { summary };
  return { summary, description: [comment, spends].filter(Boolean).join("\n\n") };
}

function bodyOf({ rpc, body, path }: Binding, components: Components): Schema | undefined {
  if (body === undefined) return undefined;
  const schema = body === "*" ? components.body(rpc.input, topLevel(path.fields)) : partOf(body, components);
  return { required: true, content: { "application/json": { schema } } };
}

function partOf(field: DescField, components: Components): Schema {
  return components.parameter(field).schema;
}

function topLevel(fields: string[][]): Set<string> {
  return new Set(fields.filter(({ length }) => length === 1).map(([name = ""]) => name));
}
