import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { hasOption } from "@bufbuild/protobuf";
import { comments } from "../../../gen/comments.js";
import { refuse_unknown_properties } from "../../../gen/stoa/v1/options_pb.js";
import { getOption } from "../../contract/options.ts";
import { isOmittedWhenUnset } from "../../contract/rules.ts";
import { maxWarnings } from "../../transcoding/index.ts";
import { defaultOf } from "./defaults.ts";
import { exampleOf } from "./examples.ts";
import { rulesOf } from "./rules.ts";
import { nullable, type Schema, withKeywords } from "./schema.ts";
import { enumNames, isNullable, scalarSchema, wellKnownSchema } from "./types.ts";

/** What REST adds to a response whose request held something without any effect. */
const warningsSchema: Schema = {
  type: "array",
  items: { type: "string" },
  minItems: 1,
  maxItems: maxWarnings,
  description:
    "What the request held without any effect, and whether the response is only a part: a sentence each. Absent if there is" +
    " nothing to say.",
};

/** The use of a message: a whole response (with `ok`), a part of a response, or a part of a request. */
type Role = "reply" | "part" | "request";

/** The named schemas of the description. Each is created when something first refers to it. */
export class Components {
  readonly schemas: Record<string, Schema> = {};
  readonly #names = new Map<string, string>();

  /** The schema of a whole response. `ok: true` comes first. */
  reply(desc: DescMessage): Schema {
    return this.#message(desc, "reply");
  }

  /** The schema of a message within a response or a stream. */
  part(desc: DescMessage): Schema {
    return wellKnownSchema(desc, "written") ?? this.#message(desc, "part");
  }

  /** The schema of a request's JSON body. @param without the fields that are in the path */
  body(desc: DescMessage, without: ReadonlySet<string>): Schema {
    return this.#message(desc, "request", without);
  }

  /** The schema of a parameter: a field of a request, with its rules and default. */
  parameter(field: DescField): { schema: Schema; required: boolean } {
    const { required, keywords, items } = rulesOf(field);
    const schema = withKeywords(this.#field(field, "read"), { ...keywords, default: defaultOf(field) });
    if (field.fieldKind === "list") schema.items = withKeywords(schema.items as Schema, items);
    return { schema, required };
  }

  #message(desc: DescMessage, role: Role, without: ReadonlySet<string> = new Set()): Schema {
    return this.#named(desc, role, () => {
      if (role !== "request") return this.#output(desc, role);
      return this.#input(
        desc,
        desc.fields.filter(({ name }) => !without.has(name)),
      );
    });
  }

  /** Responses have all members in the order of the contract, except those that the contract omits. Absent values are null. */
  #output(desc: DescMessage, role: Role): Schema {
    const properties: Record<string, Schema> = role === "reply" ? { ok: { const: true } } : {};
    const required = Object.keys(properties);
    for (const field of desc.fields) {
      const schema = this.#field(field, "written");
      const isOmitted = isOmittedWhenUnset(field);
      if (!isOmitted) required.push(field.name);
      properties[field.name] = describe(field, isNullable(field) && !isOmitted ? nullable(schema) : schema);
    }
    if (role === "reply") properties.warnings = warningsSchema;
    return withKeywords(
      { type: "object", required, properties },
      { description: comments[desc.typeName], examples: listOf(exampleOf(desc, role)) },
    );
  }

  /** Members that may be absent may also be null. */
  #input(desc: DescMessage, fields: DescField[]): Schema {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const field of fields) {
      const parameter = this.parameter(field);
      if (parameter.required) required.push(field.name);
      properties[field.name] = describe(field, parameter.required ? parameter.schema : nullable(parameter.schema));
    }
    const refusesUnknown = hasOption(desc, refuse_unknown_properties) && getOption(desc, refuse_unknown_properties);
    return withKeywords(
      { type: "object", ...(required.length > 0 ? { required } : {}), properties },
      {
        additionalProperties: refusesUnknown ? false : undefined,
        description: comments[desc.typeName],
        examples: listOf(exampleOf(desc, "request", fields)),
      },
    );
  }

  #field(field: DescField, direction: "read" | "written"): Schema {
    const element = (kind: "message" | "enum" | "scalar"): Schema => {
      if (kind === "enum") return this.#enum(field.enum as DescEnum);
      if (kind === "scalar") return scalarSchema(field.scalar as NonNullable<typeof field.scalar>);
      const desc = field.message as DescMessage;
      return wellKnownSchema(desc, direction) ?? this.#message(desc, direction === "read" ? "request" : "part");
    };
    if (field.fieldKind === "list") return { type: "array", items: element(field.listKind) };
    if (field.fieldKind === "map") return { type: "object", additionalProperties: element(field.mapKind) };
    return element(field.fieldKind);
  }

  #enum(desc: DescEnum): Schema {
    return this.#named(desc, "part", () => {
      const description = [comments[desc.typeName], describeValues(desc)].filter(Boolean).join("\n\n");
      return { type: "string", enum: enumNames(desc).map(({ name }) => name), description };
    });
  }

  /** A reference to a named schema. Different uses of a message have different names. */
  #named(desc: DescMessage | DescEnum, role: Role, make: () => Schema): Schema {
    const key = `${role} ${desc.typeName}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      const plain = desc.typeName.slice(desc.file.proto.package.length + 1);
      name = plain in this.schemas ? `${plain}${{ reply: "Reply", part: "Part", request: "Input" }[role]}` : plain;
      if (name in this.schemas) throw new Error(`The API description has two schemas of the name ${name}.`);
      this.#names.set(key, name);
      // The name exists before the schema, because a message may hold itself.
      this.schemas[name] = {};
      this.schemas[name] = make();
    }
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** The values of an enum and their meanings, as a Markdown list. */
export function describeValues(desc: DescEnum): string {
  const lines = enumNames(desc).map(({ name, value }) => {
    const comment = comments[`${desc.typeName}.${value.name}`];
    return comment === undefined ? `- \`${name}\`` : `- \`${name}\`: ${comment}`;
  });
  return lines.join("\n");
}

function describe(field: DescField, schema: Schema): Schema {
  return withKeywords(schema, {
    description: comments[`${field.parent.typeName}.${field.name}`],
    deprecated: field.deprecated || undefined,
  });
}

function listOf<T>(value: T | undefined): T[] | undefined {
  return value === undefined ? undefined : [value];
}
