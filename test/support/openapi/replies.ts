import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { documentPath } from "../../../src/api-docs/openapi/routes.ts";
import { registrationHeader } from "../../../src/contract/registration.ts";
import { description, descriptionWithToken, faultOfReply, type Operation, type Response } from "./schemas.ts";

/** A reply as it was sent. */
export interface SentReply {
  method: string;
  /** The target of the request. */
  target: string;
  status: number;
  /** By lower-case names. */
  headers: Record<string, unknown>;
  body: Buffer;
  /** Whether all of it was sent. */
  isWhole: boolean;
}

/** The paths, those without variables first. */
const paths = Object.entries(description.paths)
  .map(([template, operations]) => ({ operations, parts: template.split(/\{[^}]*\}/) }))
  .sort((a, b) => a.parts.length - b.parts.length)
  .map(({ operations, parts }) => ({
    operations,
    pattern: new RegExp(`^${parts.map((part) => part.replace(/[.*+?^$()[\]\\|]/g, "\\$&")).join("[^/]+")}$`),
  }));

/** The operation of a request by the description; undefined if there is none. */
function findOperation(method: string, target: string): Operation | undefined {
  const [path = ""] = target.replace(/^https?:\/\/[^/]*/, "").split(/[?#]/, 1);
  const found = paths.find(({ pattern }) => pattern.test(path));
  return found?.operations[method === "HEAD" ? "get" : method.toLowerCase()];
}

/** Whether the description covers this address: the API, and its addresses at the root. */
export function isDescribed(target: string): boolean {
  const path = target.replace(/^https?:\/\/[^/]*/, "").split(/[?#]/, 1)[0] ?? "";
  if (path === documentPath.json || path === documentPath.yaml) return false;
  return path.startsWith("/api/") || findOperation("GET", path) !== undefined;
}

/** What the description does not allow in a reply; undefined if it allows the reply. */
export function faultOf(reply: SentReply): string | undefined {
  const { method, target, status } = reply;
  // The preflight request of a browser is not an operation.
  if (method === "OPTIONS" && status === 204) return undefined;
  const found = findOperation(method, target);
  const operation = found && needsToken(found, reply) ? registrationWithToken : found;
  const fault = operation === undefined ? faultWithout(reply) : faultWithin(operation, reply);
  return fault && `${method} ${target} was answered ${status}, and ${fault}: ${reply.body.toString("utf8", 0, 500)}`;
}

const registrationWithToken = descriptionWithToken.paths["/api/v1/agents/register"]?.post;

/** Whether this is the reply to a registration at a service with a registration token. Only those name this scheme. */
function needsToken({ operationId }: Operation, { headers }: SentReply): boolean {
  return operationId === registrationWithToken?.operationId && headers["www-authenticate"] === registrationHeader;
}

/** The reply to a request without an operation must be an Error. */
function faultWithout({ status, body, method }: SentReply): string | undefined {
  if (status < 400) return "the description knows no such operation";
  const schema = description.components.schemas.Error ?? {};
  return method === "HEAD" ? undefined : faultOfReply(schema, JSON.parse(body.toString("utf8")));
}

function faultWithin(operation: Operation, reply: SentReply): string | undefined {
  const { status, headers, method } = reply;
  const documented = resolve(operation.responses[status]);
  if (documented === undefined) return `the description of ${operation.operationId} knows no such status`;
  for (const name of requiredHeaders(documented)) {
    if (headers[name.toLowerCase()] === undefined) return `the header ${name} is missing`;
  }
  if (headers.etag !== undefined && documented.headers?.ETag === undefined) return "an ETag is not described";
  const isDamaged = headers["stoa-receipt"] === "damaged" && documented.headers?.["Stoa-Receipt"] !== undefined;
  if (documented.headers?.ETag !== undefined && headers.etag === undefined && !isDamaged) return "an ETag is missing";
  if (documented.content === undefined) return reply.body.length > 0 ? "a body is not described" : undefined;
  const [type = ""] = String(headers["content-type"]).split(";");
  const content = documented.content[type];
  if (content === undefined) return `the content type ${type} is not described`;
  if (method === "HEAD") return reply.body.length > 0 ? "a HEAD has a body" : undefined;
  const { schema } = content;
  // The bytes of a damaged receipt may be anything.
  const areBytes = /GetCanonicalReceipt$/i.test(operation.operationId);
  if (schema === undefined || (isDamaged && areBytes)) return undefined;
  for (const item of itemsOf(type, reply)) {
    const fault = faultOfReply(schema, item);
    if (fault !== undefined) return fault;
    // The content of a string is an annotation, which the validator ignores.
    const data = (schema.properties as Record<string, { contentSchema?: object }> | undefined)?.data;
    const within =
      data?.contentSchema && faultOfReply(data.contentSchema as never, JSON.parse((item as { data: string }).data));
    if (within !== undefined) return within;
  }
  return undefined;
}

function resolve(response: (Response & { $ref?: string }) | undefined): Response | undefined {
  const name = response?.$ref?.split("/").at(-1);
  return name === undefined ? response : description.components.responses[name];
}

function requiredHeaders({ headers = {} }: Response): string[] {
  return Object.keys(headers).filter((name) => description.components.headers[name]?.required === true);
}

/** The values that the schema describes: one, or each line or event of a stream. */
function itemsOf(type: string, reply: SentReply): unknown[] {
  const text = decompress(reply).toString("utf8");
  if (type === "application/x-ndjson") {
    const lines = wholeParts(text, "\n", reply).filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line));
  }
  if (type !== "text/event-stream") return reply.isWhole ? [JSON.parse(text)] : [];
  const events = wholeParts(text, "\n\n", reply).filter((event) => !event.startsWith(":"));
  return events.map((event) => Object.fromEntries(event.split("\n").map((line) => line.split(/: (.*)/s, 2))));
}

/** A reply that the client did not read to its end may end in the middle of a line. */
function wholeParts(text: string, end: string, { isWhole }: SentReply): string[] {
  const parts = text.split(end);
  const last = parts.pop();
  if (isWhole && last !== "") throw new Error(`a stream ends in the midst of a line: ${last}`);
  return parts;
}

function decompress({ headers, body, isWhole }: SentReply): Buffer {
  if (!isWhole) return body;
  const encoding = String(headers["content-encoding"] ?? "identity");
  if (encoding === "br") return brotliDecompressSync(body);
  if (encoding === "gzip") return gunzipSync(body);
  return encoding === "deflate" ? inflateSync(body) : body;
}
