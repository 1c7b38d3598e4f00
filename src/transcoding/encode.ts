import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type MessageShape,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { enumValueName } from "../contract/field-words.ts";
import { isOmittedWhenUnset } from "../contract/rules.ts";
import { isTimestampMs, toUtcText } from "./utc-time.ts";
import { hasProtoJsonForm, isHeldBare, isStruct, isTimestamp, wrappedScalar } from "./well-known.ts";

/** A value for JSON.stringify. */
export type JsonOutput = null | boolean | number | string | JsonOutput[] | { [name: string]: JsonOutput };
type Encode = (value: never) => JsonOutput;
type EncodeMessage = (message: Message) => { [name: string]: JsonOutput };

/** Descriptors live as long as the process. */
const encoders = new Map<DescMessage, EncodeMessage>();

/**
 * Encodes a message as the REST facade writes it. Names are in snake_case. int64 values are numbers. Unset optional fields
 * and messages are explicit nulls, unless the contract omits them when unset. Enum values are in lower case without their
 * prefix. Timestamps are in RFC 3339 UTC with milliseconds.
 * @throws RangeError for a value without a JSON form: an integer beyond 2^53-1, which JSON readers would round, a time
 * outside the years 1 to 9999, or a number that its enum does not name
 */
export function encodeMessage<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>) {
  return encoderOf(desc)(message);
}

function encoderOf(desc: DescMessage): EncodeMessage {
  const known = encoders.get(desc);
  if (known !== undefined) return known;
  const fields: { name: string; read: (message: Message) => unknown; encode: Encode; isOmitted: boolean }[] = [];
  const encoder: EncodeMessage = (message) => {
    const output: { [name: string]: JsonOutput } = {};
    for (const { name, read, encode, isOmitted } of fields) {
      const value = read(message);
      if (value !== undefined) output[name] = encode(value as never);
      else if (!isOmitted) output[name] = null;
    }
    return output;
  };
  // Registered before its fields are compiled, because a message may contain itself.
  encoders.set(desc, encoder);
  for (const field of desc.fields) {
    const { name } = field;
    fields.push({ name, read: reader(field), encode: compileField(field), isOmitted: isOmittedWhenUnset(field) });
  }
  return encoder;
}

function reader({ localName, oneof }: DescField): (message: Message) => unknown {
  if (oneof === undefined) return (message) => (message as Message & Record<string, unknown>)[localName];
  return (message) => {
    const chosen = (message as Message & Record<string, { case: string | undefined; value?: unknown }>)[
      oneof.localName
    ];
    return chosen?.case === localName ? chosen.value : undefined;
  };
}

function compileField(field: DescField): Encode {
  switch (field.fieldKind) {
    case "list": {
      const encode = compileElement(field, field.listKind);
      return (values: never[]) => values.map((value) => encode(value));
    }
    case "map": {
      const encode = compileElement(field, field.mapKind);
      return (entries: Record<string, never>) => {
        // Without a prototype, so that no key is special.
        const output: { [name: string]: JsonOutput } = Object.create(null);
        for (const key of Object.keys(entries)) output[key] = encode(entries[key] as never);
        return output;
      };
    }
    default:
      return compileElement(field, field.fieldKind);
  }
}

function compileElement(field: DescField, kind: "message" | "enum" | "scalar"): Encode {
  if (kind === "message") return compileMessageValue(field, field.message as DescMessage);
  if (kind === "enum") return compileEnum(field.enum as DescEnum);
  return compileScalar(field.scalar as ScalarType);
}

function compileMessageValue(field: DescField, desc: DescMessage): Encode {
  if (isTimestamp(desc)) return encodeTimestamp;
  if (isStruct(desc)) return (object: { [name: string]: JsonOutput }) => object;
  const wrapped = wrappedScalar(desc);
  if (wrapped !== undefined) {
    const encode = compileScalar(wrapped);
    return isHeldBare(field) ? encode : ({ value }: { value: never }) => encode(value);
  }
  if (hasProtoJsonForm(desc)) return (message: Message) => toJson(desc, message) as JsonOutput;
  return encoderOf(desc) as Encode;
}

function encodeTimestamp({ seconds, nanos }: { seconds: bigint; nanos: number }): string {
  const ms = Number(seconds) * 1000 + Math.floor(nanos / 1_000_000);
  if (!isTimestampMs(ms)) throw new RangeError(`${seconds} seconds are beyond the years of RFC 3339`);
  return toUtcText(ms);
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

function compileScalar(scalar: ScalarType): Encode {
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
      return (value: JsonOutput) => value;
  }
}
