import { type DescField, type DescMessage, getOption } from "@bufbuild/protobuf";
import { comments } from "../../../gen/comments.js";
import { immutable } from "../../../gen/stoa/v1/options_pb.js";
import { type Binding, fieldAt } from "../rest/bindings.ts";
import { isQueryField, resumingField } from "../rest/request.ts";
import type { Components } from "./components.ts";
import { parameterExample } from "./examples.ts";
import { type Schema, withKeywords } from "./schema.ts";

/** The parameters of a binding: of the path, of the query, and headers. */
export function parametersOf(binding: Binding, components: Components): Schema[] {
  const inPath = binding.path.fields.map((names) => {
    const field = fieldAt(binding.rpc, names) as DescField;
    const { schema } = components.parameter(field);
    // An empty segment is another address, where there is nothing.
    const nonEmpty = schema.type === "string" ? { minLength: 1 } : {};
    return parameter(field, names.join("."), "path", true, { ...nonEmpty, ...schema });
  });
  const inQuery = queryFields(binding).map(({ name, field }) => {
    const { schema, required } = components.parameter(field);
    return parameter(field, name, "query", required, schema);
  });
  return [...inPath, ...inQuery, ...headersOf(binding)];
}

function parameter(field: DescField, name: string, place: string, required: boolean, schema: Schema): Schema {
  const description = comments[`${field.parent.typeName}.${field.name}`];
  const example = parameterExample(field);
  return withKeywords({ name, in: place, ...(required ? { required } : {}) }, { description, schema, example });
}

/** The fields that the query may give, those of nested messages by their paths. */
function queryFields(binding: Binding): { name: string; field: DescField }[] {
  if (binding.body === "*") return [];
  const found: { name: string; field: DescField }[] = [];
  const visit = (message: DescMessage, prefix: string, above: DescMessage[]) => {
    for (const field of message.fields) {
      const name = prefix + field.name;
      if (isQueryField(binding, name)) found.push({ name, field });
      else if (field.fieldKind === "message" && !above.includes(field.message)) {
        visit(field.message, `${name}.`, [...above, field.message]);
      }
    }
  };
  visit(binding.rpc.input, "", [binding.rpc.input]);
  return found;
}

function headersOf(binding: Binding): Schema[] {
  const headers: Schema[] = [];
  if (getOption(binding.rpc, immutable)) {
    const description =
      "The `ETag` of a reply that you have; when it is still right, the answer is 304 without a body.";
    headers.push({ name: "If-None-Match", in: "header", description, schema: { type: "string" } });
  }
  const resumes = resumingField(binding);
  if (resumes !== undefined) {
    const description = `With \`Accept: text/event-stream\`: the id of the last event seen, after which the stream goes on, whatever \`${resumes.name}\` says.`;
    headers.push({ name: "Last-Event-ID", in: "header", description, schema: { type: "string" } });
  }
  return headers;
}
