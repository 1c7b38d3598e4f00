import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { badInput, StoaError } from "../errors.ts";
import { hasIntegerRules, joinWords, ruleSentence } from "./field-words.ts";
import { jsonExcess } from "./json-limits.ts";
import { textual } from "./message-limits.ts";

/** Parses messages of one type, in binary and in JSON. */
interface Parsers<Parsed> {
  getI(isBinary: boolean): { parse(bytes: Uint8Array): Parsed };
}

/**
 * Parsers whose failures name the field that a JSON message has wrong, and what it takes. They also refuse names of enum values
 * that the contract does not have. Connect ignores these, as it ignores unknown fields, and the caller would get what it did
 * not ask for.
 * @returns parsers that throw StoaError `bad_input` for such a field, `bad_json` beyond the limits of JSON, and otherwise what
 * the given ones throw
 */
export function nameFaults<All extends Parsers<unknown>>(desc: DescMessage, parsers: All): All {
  const enums = desc.fields.filter(({ fieldKind }) => fieldKind === "enum");
  const numbers = desc.fields.filter(({ scalar }) => scalar !== undefined && !textual.has(scalar));
  const json = parsers.getI(false);
  const named = {
    ...json,
    parse(bytes: Uint8Array) {
      const excess = jsonExcess(bytes);
      if (excess !== undefined) throw new StoaError("bad_json", `The message cannot be read: ${excess}.`);
      const members = membersOf(bytes);
      if (members === undefined) return json.parse(bytes);
      checkLengths(numbers, members);
      let message: unknown;
      try {
        message = json.parse(bytes);
      } catch (error) {
        throw faultIn(desc, members, "") ?? error;
      }
      checkNames(enums, members);
      return message;
    },
  };
  return { ...parsers, getI: (isBinary: boolean) => (isBinary ? parsers.getI(true) : named) };
}

type Members = Record<string, JsonValue>;

const decoder = new TextDecoder();
/** More characters than a number of any type needs. */
const maxNumberLength = 64;

/** The members of a message; undefined if it is not an object of JSON. */
function membersOf(bytes: Uint8Array): Members | undefined {
  try {
    const value = JSON.parse(decoder.decode(bytes)) as JsonValue;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Refuses long texts of numbers. The parser would read 250,000 digits for 25 ms, and be asked for the fault again. */
function checkLengths(fields: readonly DescField[], members: Members): void {
  for (const field of fields) {
    for (const given of [members[field.jsonName], members[field.name]]) {
      const isLong = [given].flat().some((each) => typeof each === "string" && each.length > maxNumberLength);
      if (isLong) throw badInput(field.name, takes(field, given as JsonValue, field.name));
    }
  }
}

/**
 * The error for the first field that cannot be read, in the order of the contract.
 * @param at what stands before the names of fields
 * @returns undefined if no field is at fault
 */
function faultIn(desc: DescMessage, members: Members, at: string): StoaError | undefined {
  for (const field of desc.fields) {
    for (const name of new Set([field.jsonName, field.name])) {
      const value = members[name];
      if (value === undefined || canRead(desc, name, value)) continue;
      const path = at + field.name;
      return faultWithin(field, value, path) ?? badInput(path, takes(field, value, path));
    }
  }
  return undefined;
}

/** The first fault in a message that a field holds, or in the messages of its list. */
function faultWithin({ message, fieldKind }: DescField, value: JsonValue, path: string): StoaError | undefined {
  if (message === undefined || message.typeName.startsWith("google.protobuf.")) return undefined;
  const isList = fieldKind === "list" && Array.isArray(value);
  for (const [index, each] of (isList ? value : [value]).entries()) {
    const fault = isObject(each) ? faultIn(message, each, isList ? `${path}[${index}].` : `${path}.`) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isObject(value: JsonValue): value is Members {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function canRead(desc: DescMessage, name: string, value: JsonValue): boolean {
  try {
    fromJson(desc, { [name]: value }, { ignoreUnknownFields: true });
    return true;
  } catch {
    return false;
  }
}

/** What a field takes, in one sentence. @param value what it was given */
function takes(field: DescField, value: JsonValue, path: string): string {
  if (field.fieldKind !== "list") return sentence(field, path);
  return Array.isArray(value) ? sentence(field, `Each entry of ${path}`) : `${path} must be an array.`;
}

function sentence(field: DescField, subject: string): string {
  const { scalar, enum: words } = field;
  if (words !== undefined) return `${subject} must be ${namesOf(words)}.`;
  switch (scalar) {
    case undefined:
      return `${subject} must be ${field.message?.typeName === "google.protobuf.Timestamp" ? "a time as in RFC 3339" : "an object"}.`;
    case ScalarType.STRING:
      return `${subject} must be a string.`;
    case ScalarType.BOOL:
      return `${subject} must be true or false.`;
    case ScalarType.BYTES:
      return `${subject} must be base64.`;
    default:
      return hasIntegerRules(field) ? ruleSentence(field, subject, true) : `${subject} must be an integer.`;
  }
}

/** The names that an enum has in the JSON of RPCs. */
function namesOf({ values }: DescEnum): string {
  return joinWords(values.filter(({ number }) => number !== 0).map(({ name }) => name));
}

function checkNames(fields: readonly DescField[], members: Members): void {
  for (const field of fields) {
    const words = field.enum as DescEnum;
    for (const given of [members[field.jsonName], members[field.name]]) {
      if (typeof given !== "string" || words.values.some(({ name }) => name === given)) continue;
      throw badInput(field.name, sentence(field, field.name));
    }
  }
}
