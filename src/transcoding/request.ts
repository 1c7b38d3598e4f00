import { isUtf8 } from "node:buffer";
import type { DescField, Message } from "@bufbuild/protobuf";
import { resumes_stream } from "../../gen/stoa/v1/options_pb.js";
import { type Binding, fieldAt } from "../contract/bindings.ts";
import { getOption } from "../contract/options.ts";
import type { Captured } from "../contract/path-template.ts";
import { rulesOf } from "../contract/rules.ts";
import { badInput, StoaError } from "../errors.ts";
import { decodeMessage } from "./decode.ts";
import { addUnknownMembers, IgnoredInput, maxWarnings } from "./ignored-input.ts";
import { type Input, putText, UrlText } from "./input.ts";
import { JsonSyntaxError, type JsonValue, parseJson } from "./json.ts";
import { decodeQuery, decodeVariable } from "./url-fields.ts";
import { isTextual } from "./well-known.ts";

/** The parts of a request that make up its message. */
export interface RequestParts {
  captured: Captured[];
  /** The raw query, without the question mark. */
  query: string;
  body: Buffer | undefined;
  /** The header Last-Event-ID: the id of the last event that a reconnecting client has seen. */
  lastEventId?: string | undefined;
  headers?: Readonly<Record<string, unknown>> | undefined;
}

/** What a REST request says. */
export interface ReadRequest {
  message: Message;
  /** What the request holds without any effect: a sentence each, for the caller. */
  warnings: readonly string[];
}

/**
 * Reads the message of a REST request. The path wins over the query, and both over the body.
 * @throws StoaError `bad_json`, `bad_input`
 */
export function readRequest(binding: Binding, parts: RequestParts): ReadRequest {
  const { captured, query, body, lastEventId, headers } = parts;
  const input = readBody(binding, body);
  const ignored = new IgnoredInput();
  if (headers?.["x-idempotency-key"] !== undefined && rulesOf(binding.rpc).isIdempotentByKey) ignored.otherHeader();
  if (binding.body === undefined) addUnreadBody(ignored, binding, body);
  for (const each of captured) {
    const [name = ""] = each.field;
    if (each.field.length === 1 && input.has(name)) ignored.misplaced(name, inPath);
    putText(input, each.field, new UrlText([decodeVariable(each)]));
  }
  const inQuery = query === "" ? [] : addQuery(input, binding, query);
  if (lastEventId !== undefined) resume(input, binding, lastEventId);
  const message = decodeMessage(binding.rpc.input, input);
  const pathNames = binding.path.fields.map(([name = ""]) => name);
  addUnknownMembers(ignored, binding.rpc.input, input, "a member of this request", pathNames);
  for (const name of inQuery) addUnreadParameter(ignored, binding, name);
  return { message, warnings: ignored.warnings };
}

const inPath = "is given by the path.";

/** A binding without a body may get none, or a JSON object whose members have no effect. They are told. */
function addUnreadBody(ignored: IgnoredInput, binding: Binding, body: Buffer | undefined): void {
  if (body === undefined || body.length === 0) return;
  const value = parseBody(body);
  if (value === null) return;
  if (!(value instanceof Map)) throw notAnObject();
  const fields = binding.rpc.input.fields.filter(({ name }) => isQueryField(binding, name));
  for (const name of value.keys()) {
    if (ignored.isFull) return;
    if (fields.some((field) => field.name === name)) ignored.misplaced(name, "belongs in the query, not in the body.");
    else if (isInPath(binding, name)) ignored.misplaced(name, inPath);
    else ignored.unknown(name, "a member of this request", fields);
  }
}

function addUnreadParameter(ignored: IgnoredInput, binding: Binding, name: string): void {
  const { rpc, body } = binding;
  const isMember = body === "*" ? fieldAt(rpc, [name]) !== undefined : body?.name === name;
  if (isInPath(binding, name)) ignored.misplaced(name, inPath);
  else if (isMember) ignored.misplaced(name, "belongs in the body, not in the query.");
  else {
    const candidates = rpc.input.fields.filter((field) => isQueryField(binding, field.name));
    ignored.unknown(name, "a parameter of this request", candidates);
  }
}

function isInPath({ path }: Binding, name: string): boolean {
  return path.fields.some((each) => each.join(".") === name);
}

/** If the contract has a field for it, a reconnecting client continues after the last event that it has seen. */
function resume(input: Input, binding: Binding, lastEventId: string): void {
  const field = resumingField(binding);
  if (field === undefined || !/^\d{1,16}$/.test(lastEventId)) return;
  input.set(field.name, new UrlText([String(BigInt(lastEventId) + 1n)]));
}

/** The field that the header Last-Event-ID sets, if there is one. */
export function resumingField({ rpc }: Binding): DescField | undefined {
  return rpc.input.fields.find((each) => getOption(each, resumes_stream));
}

function readBody({ body: rule }: Binding, body: Buffer | undefined): Input {
  if (rule === undefined) return new Map();
  const value = parseBody(body);
  if (rule !== "*") return new Map([[rule.name, value]]);
  if (!(value instanceof Map)) throw notAnObject();
  return value as Input;
}

function notAnObject(): StoaError {
  return badInput(undefined, "The body must be a JSON object.");
}

function parseBody(body: Buffer | undefined): JsonValue {
  if (body === undefined || body.length === 0) throw new StoaError("bad_json", "The body is empty; it must be JSON.");
  if (!isUtf8(body)) throw new StoaError("bad_json", "The body is not UTF-8.");
  try {
    return parseJson(body.toString("utf8"));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new StoaError("bad_json", `The body is not JSON: ${error.message}.`);
    throw error;
  }
}

/**
 * Adds the query parameters that name fields; dots separate the names of nested fields. Parameters without a field are
 * ignored, and so are those of fields in the path or the body.
 * @returns the first names that were ignored
 */
function addQuery(input: Input, binding: Binding, query: string): Set<string> {
  const unread = new Set<string>();
  const given = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeQuery(equals < 0 ? pair : pair.slice(0, equals));
    if (name === undefined) continue;
    const value = decodeQuery(equals < 0 ? "" : pair.slice(equals + 1));
    if (!isQueryField(binding, name)) {
      if (unread.size < maxWarnings) unread.add(name);
      continue;
    }
    if (value === undefined) throw badInput(name, `The percent-encoding of ${name} is broken.`);
    const values = given.get(name);
    if (values === undefined) given.set(name, [value]);
    else values.push(value);
  }
  for (const [name, values] of given) putText(input, name.split("."), new UrlText(values));
  return unread;
}

/** Whether a query parameter of this name sets a field. Dots separate the names of nested fields. */
export function isQueryField(binding: Binding, name: string): boolean {
  const { rpc, body } = binding;
  if (body === "*") return false;
  const names = name.split(".");
  const field = fieldAt(rpc, names);
  if (field === undefined || field.fieldKind === "map") return false;
  if (field.message !== undefined && !isTextual(field.message)) return false;
  const isInBody = typeof body === "object" && names[0] === body.name;
  return !isInBody && !isInPath(binding, name) && !isDecidedByPath(binding, field);
}

/** Whether the path has another field of the same `oneof`. */
function isDecidedByPath({ rpc, path }: Binding, { oneof }: DescField): boolean {
  return oneof !== undefined && path.fields.some((names) => fieldAt(rpc, names)?.oneof === oneof);
}
