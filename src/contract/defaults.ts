import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { default_value } from "../../gen/stoa/v1/options_pb.js";
import { getOption } from "./options.ts";

/** The integer that the contract gives as the default of a field. @throws Error, at start, if there is none */
export function integerDefault(field: DescField): bigint {
  const text = textOf(field);
  const isInteger = field.scalar === ScalarType.INT64 || field.scalar === ScalarType.INT32;
  if (!isInteger || !/^-?\d+$/.test(text)) throw wrong(field, text);
  return BigInt(text);
}

/** The string that the contract gives as the default of a field. @throws Error, at start, if there is none */
export function stringDefault(field: DescField): string {
  const text = textOf(field);
  if (field.scalar !== ScalarType.STRING || text === "") throw wrong(field, text);
  return text;
}

/** The number of the enum value that the contract gives as the default of a field. @throws Error, at start, if there is none */
export function enumDefault<Enum extends number>(field: DescField): Enum {
  const text = textOf(field);
  const value = field.enum?.values.find(({ name }) => name === text);
  if (value === undefined) throw wrong(field, text);
  return value.number as Enum;
}

/** How the contract's default of a field reads as a value of a message; undefined if there is none. */
export function defaultOf(field: DescField): string | undefined {
  const text = textOf(field);
  if (text === "") return undefined;
  return field.fieldKind === "enum" ? String(enumDefault(field)) : text;
}

function textOf(field: DescField): string {
  return getOption(field, default_value);
}

function wrong(field: DescField, text: string): Error {
  return new Error(`${field.parent.typeName}.${field.name} has no default of its type in the contract, but "${text}".`);
}
