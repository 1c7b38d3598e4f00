import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { badInput, type StoaError } from "../errors.ts";
import { hasIntegerRules, joinWords, ruleSentence } from "./field-words.ts";
import { maxItemsOf } from "./message-limits.ts";

/** Parses messages of one type, in binary and in JSON. */
interface Parsers<Parsed> {
  getI(isBinary: boolean): { parse(bytes: Uint8Array): Parsed };
}

/**
 * Parsers whose failures name the field that a JSON message has wrong, and what it takes. They also refuse names of enum values
 * that the contract does not have. Connect ignores these, as it ignores unknown fields, and the caller would get what it did
 * not ask for.
 * @returns parsers that throw StoaError `bad_input` for such a field, and otherwise what the given ones throw
 */
export function nameFaults<All extends Parsers<unknown>>(desc: DescMessage, parsers: All): All {
  const enums = desc.fields.filter(({ fieldKind }) => fieldKind === "enum");
  const json = parsers.getI(false);
  const named = {
    ...json,
    parse(bytes: Uint8Array) {
      let message: unknown;
      try {
        message = json.parse(bytes);
      } catch (error) {
        throw faultOf(desc, bytes) ?? error;
      }
      // The parser has found an object of valid types.
      if (enums.length > 0) checkNames(enums, membersOf(bytes));
      return message;
    },
  };
  return { ...parsers, getI: (isBinary: boolean) => (isBinary ? parsers.getI(true) : named) };
}

type Members = Record<string, JsonValue>;

const decoder = new TextDecoder();
const membersOf = (bytes: Uint8Array) => JSON.parse(decoder.decode(bytes)) as Members;

/** The error for the first field that cannot be read, in the order of the contract; undefined if no field is at fault. */
function faultOf(desc: DescMessage, bytes: Uint8Array): StoaError | undefined {
  try {
    return faultIn(desc, membersOf(bytes), "");
  } catch {
    return undefined;
  }
}

/** @param at what stands before the names of fields. @returns undefined if the message can be read */
function faultIn(desc: DescMessage, members: Members, at: string): StoaError | undefined {
  for (const field of desc.fields) {
    for (const name of new Set([field.jsonName, field.name])) {
      const value = members[name];
      const path = at + field.name;
      // To read a very long list again would take as long as the first time.
      if (Array.isArray(value) && value.length > (maxItemsOf(field) ?? value.length)) {
        return badInput(path, ruleSentence(field, path));
      }
      if (value === undefined || canRead(desc, name, value)) continue;
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
      return hasIntegerRules(field) ? ruleSentence(field, subject) : `${subject} must be an integer.`;
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
