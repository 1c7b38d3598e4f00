// The messages of the contract as plain values: numbers, ISO times and words. Every result can be given to JSON.stringify.
import type { DescEnum, DescField, DescMessage, Message, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, ScalarType } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { WordOf } from "./words.ts";

/** A message as the client returns it: integers are numbers, times are ISO 8601 strings, and enum values are words. */
export type Plain<T> = T extends bigint
  ? number
  : T extends Timestamp
    ? string
    : T extends Uint8Array
      ? T
      : T extends (infer Item)[]
        ? Plain<Item>[]
        : T extends Message
          ? { [Name in keyof T as Exclude<Name, `$${string}`>]: Plain<T[Name]> }
          : WordOf<T>;

/** A message as the client takes it: integers are numbers or bigints, and times are `Date`s or ISO 8601 strings. */
export type PlainInit<T> = T extends bigint
  ? number | bigint
  : T extends Timestamp
    ? Date | string
    : T extends Uint8Array
      ? T
      : T extends (infer Item)[]
        ? readonly PlainInit<Item>[]
        : T extends Message
          ? { [Name in keyof T as Exclude<Name, `$${string}`>]?: PlainInit<T[Name]> | undefined }
          : T extends { case: string; value: infer Value }
            ? { case: T["case"]; value: PlainInit<Value> }
            : WordOf<T>;

type Values = Record<string, unknown>;

/** Turns a message of the wire into plain values. What is absent is undefined. */
export function toPlain<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): Plain<MessageShape<Desc>> {
  const values = message as unknown as Values;
  return Object.fromEntries(
    schema.fields.map((field) => [
      field.localName,
      eachOf(values[field.localName], (value) => plainValue(field, value)),
    ]),
  ) as Plain<MessageShape<Desc>>;
}

/** Turns plain values into a message. @throws TypeError for a value that the field cannot have */
export function fromPlain<Desc extends DescMessage>(
  schema: Desc,
  init: PlainInit<MessageShape<Desc>>,
): MessageShape<Desc> {
  const values = init as Values;
  const convert = (field: DescField, value: unknown) => eachOf(value, (each) => wireValue(field, each));
  const fields = schema.members.map((member) => {
    const { localName } = member;
    if (member.kind === "field") return [localName, convert(member, values[localName])];
    const chosen = values[localName] as { case?: string; value?: unknown } | undefined;
    const field = member.fields.find((each) => each.localName === chosen?.case);
    return [localName, field && { case: field.localName, value: convert(field, chosen?.value) }];
  });
  return create(schema, Object.fromEntries(fields) as MessageInitShape<Desc>);
}

function eachOf(value: unknown, convert: (value: unknown) => unknown): unknown {
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value.map(convert) : convert(value);
}

function plainValue({ enum: words, message }: DescField, value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  // A newer service may send a value that this version does not know.
  if (words !== undefined) return words.value[value as number]?.localName.toLowerCase() ?? "other";
  if (message === undefined || isJson(message)) return value;
  return isTime(message) ? timestampDate(value as Timestamp).toISOString() : toPlain(message, value as Message);
}

function wireValue({ name, scalar, enum: words, message }: DescField, value: unknown): unknown {
  if (scalar === ScalarType.INT64) return toBigInt(name, value);
  if (words !== undefined) return toNumber(name, words, value);
  if (message === undefined || isJson(message)) return value;
  return isTime(message) ? toTimestamp(name, value) : fromPlain(message, value as Values);
}

/** Protobuf's own values of this type are plain JSON. */
const isJson = ({ typeName }: DescMessage) => typeName === "google.protobuf.Struct";
const isTime = ({ typeName }: DescMessage) => typeName === "google.protobuf.Timestamp";

function toBigInt(name: string, value: unknown): bigint {
  if (typeof value === "bigint") return value;
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  throw new TypeError(`${name} must be an integer up to 2^53-1, or a bigint, not ${String(value)}`);
}

function toNumber(name: string, { values }: DescEnum, word: unknown): number {
  const known = values.filter(({ number }) => number !== 0);
  const found = known.find(({ localName }) => localName.toLowerCase() === word);
  if (found !== undefined) return found.number;
  const all = known.map(({ localName }) => localName.toLowerCase()).join(", ");
  throw new TypeError(`${name} must be one of ${all}, not ${JSON.stringify(word)}`);
}

function toTimestamp(name: string, value: unknown): Timestamp {
  const date = typeof value === "string" ? readTime(value) : value;
  if (date instanceof Date && !Number.isNaN(date.getTime())) return timestampFromDate(date);
  throw new TypeError(`${name} must be a Date or an ISO 8601 string, not ${String(value)}`);
}

/** Reads a time in ISO 8601; undefined if it does not exist. `Date` alone would read February 30 as March 2. */
export function readTime(text: string): Date | undefined {
  const time = new Date(text);
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  const isDay = day === undefined || new Date(day).getUTCDate() === Number(day.slice(-2));
  return isDay && !Number.isNaN(time.getTime()) ? time : undefined;
}
