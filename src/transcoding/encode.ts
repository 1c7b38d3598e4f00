import { type DescEnum, type DescField, type DescMessage, type Message, ScalarType, toJson } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { enumValueName } from "../contract/field-words.ts";
import { oneofMember } from "../contract/oneof-member.ts";
import { isOmittedWhenUnset } from "../contract/rules.ts";
import { firstMs, hasProtoJsonForm, isHeldBare, isStruct, isTimestamp, lastMs, wrappedScalar } from "./well-known.ts";

/** A value for JSON.stringify. */
export type JsonOutput = null | boolean | number | string | JsonOutput[] | { [name: string]: JsonOutput };
type Encode = (value: never) => JsonOutput;
type EncodeMessage = (message: Message) => { [name: string]: JsonOutput };
type Members = Message & Record<string, unknown>;

interface Field {
  /** Its name in JSON. */
  name: string;
  localName: string;
  /** The local name of its `oneof`, if it is a member of one. */
  oneof: string | undefined;
  /** Undefined where JSON has the value as it is. */
  encode: Encode | undefined;
  isOmitted: boolean;
}

/** Descriptors live as long as the process. */
const encoders = new Map<DescMessage, EncodeMessage>();

/**
 * Makes the function that encodes messages of a type as the REST facade writes them. Names are in snake_case. 64-bit integers
 * are numbers. Unset optional fields and messages are explicit nulls, unless the contract omits them when unset. Enum values
 * are in lower case without their prefix. Timestamps are in RFC 3339 UTC with milliseconds.
 * @returns a function that throws RangeError for a value without a JSON form: an integer beyond 2^53-1, which JSON readers
 * would round, a time outside the years 1 to 9999, or a number that its enum does not name
 */
export function encoderOf(desc: DescMessage): EncodeMessage {
  const known = encoders.get(desc);
  if (known !== undefined) return known;
  const fields: Field[] = [];
  const encoder: EncodeMessage = (message) => {
    const output: { [name: string]: JsonOutput } = {};
    for (const { name, localName, oneof, encode, isOmitted } of fields) {
      const value = oneof === undefined ? (message as Members)[localName] : oneofMember(message, oneof, localName);
      if (value !== undefined) output[name] = encode === undefined ? (value as JsonOutput) : encode(value as never);
      else if (!isOmitted) output[name] = null;
    }
    return output;
  };
  // Registered before its fields are compiled, because a message may contain itself.
  encoders.set(desc, encoder);
  for (const field of desc.fields) {
    const { name, localName, oneof } = field;
    const isOmitted = isOmittedWhenUnset(field);
    fields.push({ name, localName, oneof: oneof?.localName, encode: compileField(field), isOmitted });
  }
  return encoder;
}

function compileField(field: DescField): Field["encode"] {
  switch (field.fieldKind) {
    case "list": {
      const encode = compileElement(field, field.listKind);
      return encode === undefined
        ? (values: JsonOutput[]) => values
        : (values: never[]) => values.map((value) => encode(value));
    }
    case "map": {
      const encode = compileElement(field, field.mapKind);
      return (entries: Record<string, never>) => {
        // Without a prototype, so that no key is special.
        const output: { [name: string]: JsonOutput } = Object.create(null);
        for (const [key, value] of Object.entries(entries)) output[key] = encode === undefined ? value : encode(value);
        return output;
      };
    }
    default:
      return compileElement(field, field.fieldKind);
  }
}

function compileElement(field: DescField, kind: "message" | "enum" | "scalar"): Field["encode"] {
  if (kind === "message") return compileMessageValue(field, field.message as DescMessage);
  if (kind === "enum") return compileEnum(field.enum as DescEnum);
  return compileScalar(field.scalar as ScalarType);
}

function compileMessageValue(field: DescField, desc: DescMessage): Field["encode"] {
  if (isTimestamp(desc)) return encodeTimestamp;
  if (isStruct(desc)) return undefined;
  const wrapped = wrappedScalar(desc);
  if (wrapped !== undefined) {
    const encode = compileScalar(wrapped);
    if (isHeldBare(field)) return encode;
    return ({ value }: { value: never }) => (encode === undefined ? value : encode(value));
  }
  if (hasProtoJsonForm(desc)) return (message: Message) => toJson(desc, message) as JsonOutput;
  return encoderOf(desc) as Encode;
}

function encodeTimestamp({ seconds, nanos }: { seconds: bigint; nanos: number }): string {
  return toUtcText(Number(seconds) * 1000 + Math.floor(nanos / 1_000_000));
}

function compileEnum(desc: DescEnum): Encode {
  // If several names share a number, the first one is used.
  const names = new Map(desc.values.toReversed().map(({ number, name }) => [number, enumValueName(desc, name)]));
  return (value: number) => {
    const name = names.get(value);
    if (name === undefined) throw new RangeError(`${desc.typeName} has no value ${value}`);
    return name;
  };
}

function compileScalar(scalar: ScalarType): Field["encode"] {
  switch (scalar) {
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (value: bigint) => {
        const number = Number(value);
        if (!Number.isSafeInteger(number)) throw new RangeError(`${value} is beyond the integers of JSON`);
        return number;
      };
    case ScalarType.BYTES:
      return (value: Uint8Array) => base64Encode(value);
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      // As in proto JSON, NaN, Infinity and -Infinity are strings.
      return (value: number) => (Number.isFinite(value) ? value : String(value));
    default:
      return undefined;
  }
}

const MS_PER_DAY = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));

/** The last written day, counted from 1970-01-01. Most times of a reply are on a few days. */
let lastDay = 0;
let lastDate = "1970-01-01";

/**
 * Same as `new Date(ms).toISOString()` for the years 1 to 9999, but several times as fast: 2026-01-31T23:59:59.000Z.
 * @param ms milliseconds since 1970-01-01T00:00:00Z, a whole number
 * @throws RangeError for other years
 */
export function toUtcText(ms: number): string {
  if (!(ms >= firstMs && ms <= lastMs)) throw new RangeError(`${ms} ms are beyond the years of RFC 3339`);
  const day = Math.floor(ms / MS_PER_DAY);
  if (day !== lastDay) {
    lastDay = day;
    lastDate = new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
  }
  const seconds = Math.floor(ms / 1000) - day * 86_400;
  const minutes = Math.floor(seconds / 60);
  const time = `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`;
  return `${lastDate}T${time}.${String(ms - Math.floor(ms / 1000) * 1000).padStart(3, "0")}Z`;
}
