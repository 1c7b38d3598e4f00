import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type MessageShape,
  type JsonValue as PlainJson,
  ScalarType,
} from "@bufbuild/protobuf";
import { refuse_unknown_properties } from "../../gen/stoa/v1/options_pb.js";
import { enumValueName, enumValueNames } from "../contract/field-words.ts";
import { maxJsonDepth } from "../contract/json-limits.ts";
import { getOption } from "../contract/options.ts";
import { badInput } from "../errors.ts";
import { type Input, type Node, UrlText } from "./input.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "./json.ts";
import { inRange, integerText, notText, readScalar, readTimestamp } from "./scalars.ts";
import { hasProtoJsonForm, isHeldBare, isStruct, isTimestamp, wrappedScalar } from "./well-known.ts";

/**
 * Reads a message from the input of a request. The rules are those of `encoderOf`. Types are strict, and `null` means
 * absent.
 * @param at what stands before the names of fields in errors
 * @param depth how many messages the message is in, counted from 1
 * @throws StoaError `bad_input` for the fault in the lowest field number. Unknown properties, if refused, are reported last
 */
export function decodeMessage<Desc extends DescMessage>(
  desc: Desc,
  input: Input,
  at = "",
  depth = 1,
): MessageShape<Desc> {
  const init: Record<string, unknown> = {};
  const { fields, refusesUnknown } = shapes.get(desc) ?? addShape(desc);
  for (const field of fields) {
    const node = input.get(field.name);
    if (node === undefined || node === null) continue;
    const value = readField(field, node, at + field.name, depth);
    if (field.oneof === undefined) init[field.localName] = value;
    else if (init[field.oneof.localName] === undefined) init[field.oneof.localName] = { case: field.localName, value };
    else throw badInput(at + field.name, `${at}${field.name} excludes another member of ${field.oneof.name}.`);
  }
  if (refusesUnknown) {
    for (const name of input.keys()) {
      if (fields.some((field) => field.name === name)) continue;
      const shown = name.slice(0, maxShownName).toWellFormed();
      throw badInput(at + shown, `There is no property ${shown}.`);
    }
  }
  return create(desc as DescMessage, init) as MessageShape<Desc>;
}

/** How much of a name that is not known an error shows. */
const maxShownName = 64;

interface Shape {
  /** In the order of their numbers. */
  fields: DescField[];
  refusesUnknown: boolean;
}

/** Descriptors live as long as the process. */
const shapes = new Map<DescMessage, Shape>();

function addShape(desc: DescMessage): Shape {
  const fields = desc.fields.toSorted((a, b) => a.number - b.number);
  const shape = { fields, refusesUnknown: getOption(desc, refuse_unknown_properties) };
  shapes.set(desc, shape);
  return shape;
}

function readField(field: DescField, node: Node, at: string, depth: number): unknown {
  switch (field.fieldKind) {
    case "list": {
      const elements = node instanceof UrlText ? node.values.map((value) => new UrlText([value])) : node;
      if (!Array.isArray(elements)) throw badInput(at, `${at} must be an array.`);
      return elements.map((element, index) => readElement(field, field.listKind, element, `${at}[${index}]`, depth));
    }
    case "map": {
      if (!(node instanceof Map)) throw badInput(at, `${at} must be an object.`);
      const entries = Object.create(null);
      for (const [key, value] of node) {
        if (!isMapKey(field.mapKey, key)) throw badInput(`${at}.${key}`, `${key} cannot be a key of ${at}.`);
        entries[key] = readElement(field, field.mapKind, value, `${at}.${key}`, depth);
      }
      return entries;
    }
    default:
      if (node instanceof UrlText && node.values.length > 1) throw badInput(at, `${at} is given more than once.`);
      return readElement(field, field.fieldKind, node, at, depth);
  }
}

function isMapKey(type: ScalarType, key: string): boolean {
  if (type === ScalarType.STRING) return key.isWellFormed();
  if (type === ScalarType.BOOL) return key === "true" || key === "false";
  return integerText.test(key) && inRange(type, BigInt(key));
}

type Kind = "message" | "enum" | "scalar";

function readElement(field: DescField, kind: Kind, node: Node, at: string, depth: number): unknown {
  if (kind === "enum") {
    const text = node instanceof UrlText ? node.values[0] : node;
    const desc = field.enum as NonNullable<DescField["enum"]>;
    const value = desc.values.find(({ name }) => enumValueName(desc, name) === text);
    if (value === undefined || value.number === 0) {
      throw badInput(at, `${at} must be ${enumValueNames(desc)}.`);
    }
    return value.number;
  }
  if (kind === "message") return readMessageValue(field, field.message as DescMessage, node, at, depth);
  return readScalar(field.scalar as ScalarType, node, at, field);
}

function readMessageValue(field: DescField, desc: DescMessage, node: Node, at: string, depth: number): unknown {
  if (isTimestamp(desc)) return readTimestamp(node, at);
  const wrapped = wrappedScalar(desc);
  if (wrapped !== undefined) {
    const value = readScalar(wrapped, node, at);
    return isHeldBare(field) ? value : create(desc, { value } as Record<string, unknown>);
  }
  if (hasProtoJsonForm(desc)) {
    const json = node instanceof UrlText ? (node.values[0] as string) : toPlain(node as JsonValue, at, depth);
    try {
      return fromJson(desc, json);
    } catch {
      throw badInput(at, `${at} is not a ${desc.name}.`);
    }
  }
  if (!(node instanceof Map)) throw badInput(at, `${at} must be an object.`);
  if (isStruct(desc)) return toPlain(node as JsonObject, at, depth);
  if (depth === maxJsonDepth) throw tooDeep(at);
  return decodeMessage(desc, node as Input, `${at}.`, depth + 1);
}

/** Converts to the value of google.protobuf.Struct and similar types, which hold numbers as doubles. */
function toPlain(value: JsonValue, at: string, depth: number): PlainJson {
  if (typeof value === "string" && !value.isWellFormed()) throw notText(at);
  if (value instanceof JsonNumber) {
    const number = value.toNumber();
    if (!Number.isFinite(number)) throw badInput(at, `${at} holds a number that is out of range.`);
    return number;
  }
  if (value === null || typeof value !== "object") return value;
  if (depth === maxJsonDepth) throw tooDeep(at);
  if (Array.isArray(value)) return value.map((element) => toPlain(element, at, depth + 1));
  const object: { [name: string]: PlainJson } = Object.create(null);
  for (const [name, member] of value) {
    if (!name.isWellFormed()) throw notText(at);
    object[name] = toPlain(member, at, depth + 1);
  }
  return object;
}

function tooDeep(at: string) {
  return badInput(at, `${at} is nested too deeply.`);
}
