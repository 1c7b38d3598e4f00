import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { isObject, type JsonObject } from "./error.ts";

/** A message as the REST API writes it: snake_case, words for enum values, times in RFC 3339, null for what is absent. */
export function toRestJson(schema: DescMessage, message: Message): JsonObject {
  const values = message as Message & { [name: string]: unknown };
  return Object.fromEntries(schema.fields.map((field) => [field.name, toValue(field, values[field.localName])]));
}

function toValue(field: DescField, value: unknown): unknown {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map((each) => toSingle(field, each));
  return toSingle(field, value);
}

function toSingle(field: DescField, value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (field.enum !== undefined) return field.enum.value[value as number]?.localName.toLowerCase() ?? null;
  if (field.message?.typeName === "google.protobuf.Timestamp" && isObject(value)) {
    return new Date(Number(value.seconds) * 1000 + Number(value.nanos) / 1_000_000).toISOString();
  }
  return field.message === undefined ? value : toRestJson(field.message, value as Message);
}
