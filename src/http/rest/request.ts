import { isUtf8 } from "node:buffer";
import type { Message } from "@bufbuild/protobuf";
import { badInput, notFound, StoaError } from "../../errors.ts";
import { type Binding, fieldAt } from "./bindings.ts";
import { decodeMessage, type Input, UrlText } from "./decode.ts";
import { JsonSyntaxError, type JsonValue, parseJson } from "./json.ts";
import { PathEncodingError } from "./path-template.ts";

/**
 * Reads the message of a REST request. The path wins over the query, and both over the body.
 * @param url the raw target of the request line: path and query
 * @throws StoaError `not_found` for an empty path segment, `bad_json`, `bad_input`
 */
export function readRequest(binding: Binding, url: string, body: Buffer | undefined): Message {
  const queryAt = url.indexOf("?");
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const variables = matchPath(binding, path);
  const input = readBody(binding, body);
  if (binding.body !== "*" && queryAt >= 0) addQuery(input, binding, url.slice(queryAt + 1));
  for (const { field, value } of variables) put(input, field, new UrlText([value]));
  return decodeMessage(binding.rpc.input, input);
}

function matchPath({ path: template }: Binding, path: string) {
  try {
    const variables = template.match(path);
    if (variables !== undefined) return variables;
  } catch (error) {
    if (error instanceof PathEncodingError) throw badInput(error.field, `In the path, ${error.message}.`);
    throw error;
  }
  throw notFound("There is nothing at this address.");
}

function readBody({ body: rule }: Binding, body: Buffer | undefined): Input {
  if (rule === undefined) return new Map();
  const value = parseBody(body);
  if (rule !== "*") return new Map([[rule.name, value]]);
  if (!(value instanceof Map)) throw badInput(undefined, "The body must be a JSON object.");
  return value as Input;
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

/** Query parameters name fields, nested ones with dots; unknown ones are ignored, as are those that the path or body hold. */
function addQuery(input: Input, binding: Binding, query: string): void {
  const given = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeQuery(equals < 0 ? pair : pair.slice(0, equals));
    if (name === undefined) continue;
    const value = decodeQuery(equals < 0 ? "" : pair.slice(equals + 1));
    if (!isQueryField(binding, name)) continue;
    if (value === undefined) throw badInput(name, `The percent-encoding of ${name} is broken.`);
    const values = given.get(name);
    if (values === undefined) given.set(name, [value]);
    else values.push(value);
  }
  for (const [name, values] of given) put(input, name.split("."), new UrlText(values));
}

function isQueryField({ rpc, body, path }: Binding, name: string): boolean {
  const names = name.split(".");
  const field = fieldAt(rpc, names);
  const scalar = field?.fieldKind === "list" ? field.listKind !== "message" : field?.fieldKind !== "map";
  const bodyField = typeof body === "object" ? body.name : undefined;
  return field !== undefined && scalar && names[0] !== bodyField && !path.fields.some((each) => each.join(".") === name);
}

function decodeQuery(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function put(input: Input, names: string[], value: UrlText): void {
  let target = input;
  for (const name of names.slice(0, -1)) {
    let next = target.get(name);
    if (!(next instanceof Map)) {
      next = new Map();
      target.set(name, next);
    }
    target = next as Input;
  }
  target.set(names.at(-1) as string, value);
}
