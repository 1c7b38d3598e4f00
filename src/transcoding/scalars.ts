import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { hasIntegerRules, ruleSentence } from "../contract/field-words.ts";
import { badInput } from "../errors.ts";
import { type Node, UrlText } from "./input.ts";
import { JsonNumber } from "./json.ts";
import { firstMs, lastMs } from "./well-known.ts";

/** RFC 3339 with up to nine fractional digits of a second. */
const rfc3339 =
  /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** Reads a time, exact to the nanosecond. @throws StoaError `bad_input` that names `at` */
export function readTimestamp(node: Node, at: string): { seconds: bigint; nanos: number } {
  const text = node instanceof UrlText ? node.values[0] : node;
  const match = typeof text === "string" ? rfc3339.exec(text) : null;
  if (match !== null) {
    const [, date, time, fraction = "", zone = ""] = match;
    const ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
    if (isDate(date as string) && ms >= firstMs && ms <= lastMs) {
      return { seconds: BigInt(ms) / 1000n, nanos: Number(fraction.padEnd(9, "0")) };
    }
  }
  throw badInput(at, `${at} must be a date and time as in RFC 3339.`);
}

/** Whether the day exists. Date.parse would read February 30 as March 2. */
function isDate(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** The form of an integer in a path, a query or a key of a map. */
export const integerText = /^(?:0|-?[1-9]\d*)$/;

/**
 * Reads a scalar. The JSON type must be exactly the one of the field.
 * @param field whose rules the error tells, if it has any
 * @throws StoaError `bad_input` that names `at`
 */
export function readScalar(type: ScalarType, node: Node, at: string, field?: DescField): unknown {
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
        // Reported below, like every other value of the wrong type.
      }
      throw badInput(at, `${at} must be base64.`);
    }
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE: {
      const value = readFloat(text, node);
      if (value === undefined) throw badInput(at, `${at} must be a number.`);
      if (type === ScalarType.FLOAT && Number.isFinite(value) && !Number.isFinite(Math.fround(value))) {
        throw badInput(at, `${at} must be a number within the range of single precision.`);
      }
      return value;
    }
    default: {
      const value = text === undefined ? integerOf(node) : integerText.test(text) ? BigInt(text) : undefined;
      if (value === undefined || !inRange(type, value)) throw badInput(at, integerSentence(type, at, field));
      return isLong(type) ? value : Number(value);
    }
  }
}

function integerSentence(type: ScalarType, at: string, field: DescField | undefined): string {
  if (field !== undefined && hasIntegerRules(field)) return ruleSentence(field, at, true);
  return `${at} must be an integer from ${rangeOf(type).join(" to ")}.`;
}

function integerOf(node: Node): bigint | undefined {
  return node instanceof JsonNumber ? node.toInteger() : undefined;
}

/** The form of a number in JSON. */
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

/** Whether an integer is in the range of its type. */
export function inRange(type: ScalarType, value: bigint): boolean {
  const [least, most] = rangeOf(type);
  return value >= least && value <= most;
}

/** The least and the greatest integer of a type. 64-bit integers end at 2^53-1, because JSON readers round those beyond. */
function rangeOf(type: ScalarType): [bigint, bigint] {
  const unsigned =
    type === ScalarType.UINT32 ||
    type === ScalarType.UINT64 ||
    type === ScalarType.FIXED32 ||
    type === ScalarType.FIXED64;
  const most = isLong(type) ? BigInt(Number.MAX_SAFE_INTEGER) : unsigned ? 0xffff_ffffn : 0x7fff_ffffn;
  return [unsigned ? 0n : isLong(type) ? -most : -most - 1n, most];
}

export function notText(at: string) {
  return badInput(at, `${at} is not well-formed text: it holds a lone surrogate.`);
}
