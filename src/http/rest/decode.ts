import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  getOption,
  hasOption,
  type Message,
  type MessageShape,
  type JsonValue as PlainJson,
  ScalarType,
} from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { refuse_unknown_properties } from "../../../gen/stoa/v1/options_pb.js";
import { badInput } from "../../errors.ts";
import { enumValueName } from "./encode.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "./json.ts";
import { hasProtoJsonForm, isHeldBare, isStruct, isTimestamp, isTimestampMs, wrappedScalar } from "./well-known.ts";

/** Values from the path or the query: text that is still to be read as the type of its field. */
export class UrlText {
  readonly values: string[];

  constructor(values: string[]) {
    this.values = values;
  }
}

/** What a request holds: members of a JSON body, and texts of the path and the query. */
export type Input = Map<string, Input | UrlText | JsonValue>;
type Node = Input | UrlText | JsonValue;

/** How deep values may be nested, as in Protobuf's own runtimes: what reads and writes them recurses. */
const deepest = 100;

/**
 * Reads a message from a request, by the same rules as `encodeMessage` writes one: strict types, `null` as absent.
 * @throws StoaError `bad_input` for the fault in the lowest field number; unknown properties, where refused, come last.
 */
export function decodeMessage<Desc extends DescMessage>(desc: Desc, input: Input): MessageShape<Desc> {
  return readMessage(desc, input, "", 1) as MessageShape<Desc>;
}

function readMessage(desc: DescMessage, input: Input, at: string, depth: number): Message {
  const init: Record<string, unknown> = {};
  for (const field of fieldsByNumber(desc)) {
    const node = input.get(field.name);
    if (node === undefined || node === null) continue;
    const value = readField(field, node, at + field.name, depth);
    if (field.oneof === undefined) init[field.localName] = value;
    else if (init[field.oneof.localName] === undefined) init[field.oneof.localName] = { case: field.localName, value };
    else throw badInput(at + field.name, `${at}${field.name} excludes another member of ${field.oneof.name}.`);
  }
  if (hasOption(desc, refuse_unknown_properties) && getOption(desc, refuse_unknown_properties)) {
    for (const name of input.keys()) {
      if (!desc.fields.some((field) => field.name === name)) throw badInput(at + name, `There is no property ${name}.`);
    }
  }
  return create(desc, init);
}

const sortedFields = new WeakMap<DescMessage, DescField[]>();

function fieldsByNumber(desc: DescMessage): DescField[] {
  let fields = sortedFields.get(desc);
  if (fields === undefined) {
    fields = desc.fields.toSorted((a, b) => a.number - b.number);
    sortedFields.set(desc, fields);
  }
  return fields;
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
      const names = desc.values.filter(({ number }) => number !== 0).map(({ name }) => enumValueName(desc, name));
      throw badInput(at, `${at} must be one of ${names.join(", ")}.`);
    }
    return value.number;
  }
  if (kind === "message") return readMessageValue(field, field.message as DescMessage, node, at, depth);
  return readScalar(field.scalar as ScalarType, node, at);
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
  if (depth === deepest) throw tooDeep(at);
  return readMessage(desc, node as Input, `${at}.`, depth + 1);
}

/** RFC 3339 with up to nine digits of a second; kept to the nanosecond. */
const rfc3339 =
  /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

function readTimestamp(node: Node, at: string): { seconds: bigint; nanos: number } {
  const text = node instanceof UrlText ? node.values[0] : node;
  const match = typeof text === "string" ? rfc3339.exec(text) : null;
  if (match !== null) {
    const [, date, time, fraction = "", zone = ""] = match;
    const ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
    if (isDate(date as string) && isTimestampMs(ms)) {
      return { seconds: BigInt(ms) / 1000n, nanos: Number(fraction.padEnd(9, "0")) };
    }
  }
  throw badInput(at, `${at} must be a date and time as in RFC 3339.`);
}

/** Date.parse takes February 30 for March 2. */
function isDate(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

const integerText = /^(?:0|-?[1-9]\d*)$/;

function readScalar(type: ScalarType, node: Node, at: string): unknown {
  const text = node instanceof UrlText ? (node.values[0] as string) : undefined;
  switch (type) {
    case ScalarType.STRING:
      if (text !== undefined) return text;
      if (typeof node !== "string") throw badInput(at, `${at} must be a string.`);
      if (!node.isWellFormed()) throw notText(at);
      return node;
    case ScalarType.BOOL: {
      const value = text === undefined ? node : text === "true" ? true : text === "false" ? false : undefined;
      if (typeof value !== "boolean") throw badInput(at, `${at} must be true or false.`);
      return value;
    }
    case ScalarType.BYTES: {
      try {
        const encoded = text ?? node;
        if (typeof encoded === "string") return base64Decode(encoded);
      } catch {
        // Reported as any other value of the wrong kind, below.
      }
      throw badInput(at, `${at} must be base64.`);
    }
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE: {
      const value = readFloat(text, node);
      if (value === undefined) throw badInput(at, `${at} must be a number.`);
      if (type === ScalarType.FLOAT && Number.isFinite(value) && !Number.isFinite(Math.fround(value))) {
        throw badInput(at, `${at} is out of range.`);
      }
      return value;
    }
    default: {
      const value = text === undefined ? integerOf(node) : integerText.test(text) ? BigInt(text) : undefined;
      if (value === undefined) throw badInput(at, `${at} must be an integer.`);
      if (!inRange(type, value)) throw badInput(at, `${at} is out of range.`);
      return isLong(type) ? value : Number(value);
    }
  }
}

function integerOf(node: Node): bigint | undefined {
  return node instanceof JsonNumber ? node.toInteger() : undefined;
}

/** What JSON takes for a number. */
const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readFloat(text: string | undefined, node: Node): number | undefined {
  const word = text ?? node;
  // As proto JSON has it.
  if (word === "NaN" || word === "Infinity" || word === "-Infinity") return Number(word);
  const digits =
    word instanceof JsonNumber ? word.text : text !== undefined && numberText.test(text) ? text : undefined;
  const value = Number(digits);
  return Number.isFinite(value) ? value : undefined;
}

function isLong(type: ScalarType): boolean {
  return (
    type === ScalarType.INT64 ||
    type === ScalarType.UINT64 ||
    type === ScalarType.SINT64 ||
    type === ScalarType.FIXED64 ||
    type === ScalarType.SFIXED64
  );
}

/** 64-bit integers are exact in JSON up to 2^53-1 only; nothing beyond that is accepted. */
function inRange(type: ScalarType, value: bigint): boolean {
  const unsigned =
    type === ScalarType.UINT32 ||
    type === ScalarType.UINT64 ||
    type === ScalarType.FIXED32 ||
    type === ScalarType.FIXED64;
  const most = isLong(type) ? BigInt(Number.MAX_SAFE_INTEGER) : unsigned ? 0xffff_ffffn : 0x7fff_ffffn;
  const least = unsigned ? 0n : isLong(type) ? -most : -most - 1n;
  return value >= least && value <= most;
}

/** The value for google.protobuf.Struct and its like, which hold numbers as doubles. */
function toPlain(value: JsonValue, at: string, depth: number): PlainJson {
  if (typeof value === "string" && !value.isWellFormed()) throw notText(at);
  if (value instanceof JsonNumber) {
    const number = value.toNumber();
    if (!Number.isFinite(number)) throw badInput(at, `${at} holds a number that is out of range.`);
    return number;
  }
  if (value === null || typeof value !== "object") return value;
  if (depth === deepest) throw tooDeep(at);
  if (Array.isArray(value)) return value.map((element) => toPlain(element, at, depth + 1));
  const object: { [name: string]: PlainJson } = Object.create(null);
  for (const [name, member] of value) {
    if (!name.isWellFormed()) throw notText(at);
    object[name] = toPlain(member, at, depth + 1);
  }
  return object;
}

function notText(at: string) {
  return badInput(at, `${at} is not well-formed text: it holds a lone surrogate.`);
}

function tooDeep(at: string) {
  return badInput(at, `${at} is nested too deeply.`);
}
