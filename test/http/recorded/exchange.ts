// Requests as bytes over both versions of HTTP, and replies as they come: each header field, the body, the trailers.
import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { connect } from "node:net";

export interface Request {
  method: string;
  target: string;
  /** Latin-1. */
  headers: readonly (readonly [string, string])[];
  body?: Buffer | undefined;
}

export interface Reply {
  status: number;
  /** Sorted by name, as their order says nothing. */
  headers: [string, string][];
  body: Buffer;
  trailers: [string, string][];
}

/** Sends a request over a connection of its own. @returns undefined if the connection ends without a reply */
export function exchangeHttp1(url: string, { method, target, headers, body }: Request): Promise<Reply | undefined> {
  const fields = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `${method} ${target} HTTP/1.1\r\nHost: stoa.example\r\n${fields}\r\n`;
  return exchangeBytes(url, Buffer.concat([Buffer.from(head, "latin1"), body ?? Buffer.alloc(0)]), method);
}

/**
 * Sends bytes over a connection of its own, and reads the first reply that is not an interim one. Of a stream of REST, which may
 * have no end, it reads the beginning.
 * @param endsSide whether the client ends its side of the connection after the bytes
 */
export async function exchangeBytes(
  url: string,
  bytes: Buffer,
  method = "GET",
  endsSide = false,
): Promise<Reply | undefined> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = Buffer.alloc(0);
  let reply: Reply | undefined;
  // A reset after the reply is what a server may do to a client that goes on sending.
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    const isEndless = /^content-type: (?:application\/x-ndjson|text\/event-stream)/im.test(chunk.toString("latin1"));
    reply = parse(received, method, isEndless);
    if (reply !== undefined) socket.destroy();
  });
  const closed = once(socket, "close");
  if (endsSide) socket.end(bytes);
  else socket.write(bytes);
  await closed;
  return reply ?? parse(received, method, true);
}

/** @returns undefined while the reply is not whole */
function parse(bytes: Buffer, method: string, hasEnded: boolean): Reply | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
  const rest = bytes.subarray(end + 4);
  if (status < 200) return parse(rest, method, hasEnded);
  const headers = lines.map((line) => fieldOf(line));
  const reply = { status, headers: sorted(headers), trailers: [] };
  if (method === "HEAD" || status === 204 || status === 304) return { ...reply, body: Buffer.alloc(0) };
  const fieldNamed = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
  if (fieldNamed("transfer-encoding") === "chunked") {
    const chunks = unchunk(rest, hasEnded);
    return chunks === undefined ? undefined : { ...reply, ...chunks };
  }
  const length = fieldNamed("content-length");
  if (length === undefined) return hasEnded ? { ...reply, body: rest } : undefined;
  return rest.length < Number(length) ? undefined : { ...reply, body: rest.subarray(0, Number(length)) };
}

function unchunk(bytes: Buffer, hasEnded: boolean): Pick<Reply, "body" | "trailers"> | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n", at);
    if (end < 0) return hasEnded ? { body: Buffer.concat(chunks), trailers: [] } : undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, end), 16);
    if (size === 0) {
      const last = bytes.indexOf("\r\n\r\n", end);
      if (last < 0) return undefined;
      const lines = bytes.toString("latin1", end + 2, Math.max(end + 2, last)).split("\r\n");
      return { body: Buffer.concat(chunks), trailers: sorted(lines.filter((line) => line !== "").map(fieldOf)) };
    }
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

/** Sends a request over an HTTP/2 session. @returns undefined if the stream ends without a reply */
export async function exchangeHttp2(
  session: ClientHttp2Session,
  { method, target, headers, body }: Request,
): Promise<Reply | undefined> {
  const fields: OutgoingHttpHeaders = { ":method": method, ":path": target, ":authority": "stoa.example" };
  for (const [name, value] of headers) {
    const known = fields[name.toLowerCase()];
    fields[name.toLowerCase()] = known === undefined ? value : ([known, value].flat() as string[]);
  }
  const stream = session.request(fields, { endStream: body === undefined });
  const reply: Reply = { status: 0, headers: [], body: Buffer.alloc(0), trailers: [] };
  stream.on("response", (received, _flags, raw) => {
    reply.status = Number(received[":status"]);
    reply.headers = pairs(raw);
  });
  stream.on("trailers", (_received, _flags, raw) => {
    reply.trailers = pairs(raw);
  });
  stream.on("data", (chunk: Buffer) => {
    reply.body = Buffer.concat([reply.body, chunk]);
  });
  stream.on("error", () => undefined);
  const closed = once(stream, "close");
  if (body !== undefined) stream.end(body);
  await closed;
  return reply.status === 0 ? undefined : reply;
}

/** Opens a session that ends with the process of the test at the latest. */
export function openSession(url: string): ClientHttp2Session {
  return connectHttp2(url).on("error", () => undefined);
}

function pairs(raw: readonly string[] | undefined): [string, string][] {
  const all: [string, string][] = [];
  for (let at = 0; at < (raw?.length ?? 0); at += 2) all.push([raw?.[at] as string, raw?.[at + 1] as string]);
  return sorted(all.filter(([name]) => name !== ":status"));
}

function sorted(fields: [string, string][]): [string, string][] {
  return fields.sort(([one], [other]) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1));
}
