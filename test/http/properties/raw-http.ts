// HTTP/1.1 as bytes, for what no client would send.
import { connect } from "node:net";
import { parse } from "../recorded/exchange.ts";
import { decoded } from "../recorded/recording.ts";

export interface RawRequest {
  method: string;
  target: string;
  /** Names and values as Latin-1, in the order in which they are sent. */
  headers: [string, string][];
  body: Buffer;
  /** The request ends before what it announced: it need not be answered. */
  isCutOff: boolean;
}

export interface RawReply {
  status: number;
  headers: Map<string, string>;
  /** Decoded; of a stream that goes on, nothing. */
  body: Buffer;
}

/** The request as one would read it. */
export function describeRequest({ method, target, headers, body }: RawRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value.slice(0, 200)}\n`);
  return `${method} ${target}\n${lines.join("")}\n${body.toString("latin1").slice(0, 1_000)}`;
}

/** Sends a request over a connection of its own. @returns undefined where the connection ends without a reply */
export async function exchange(url: string, request: RawRequest, deadlineMs = 15_000): Promise<RawReply | undefined> {
  const { hostname, port } = new URL(url);
  const head = request.headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const start = Buffer.from(`${request.method} ${request.target} HTTP/1.1\r\n${head}\r\n`, "latin1");
  const socket = connect(Number(port), hostname);
  const received: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`no reply in ${deadlineMs} ms to\n${describeRequest(request)}\n${Buffer.concat(received)}`));
      socket.destroy();
    }, deadlineMs);
    socket.on("connect", () => {
      const bytes = Buffer.concat([start, request.body]);
      if (request.isCutOff) socket.end(bytes);
      else socket.write(bytes);
    });
    socket.on("data", (chunk) => {
      received.push(chunk);
      if (isEndless(chunk)) socket.destroy();
    });
    // A reset after the reply is what a server may do to a client that goes on sending.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  const reply = parse(Buffer.concat(received), request.method, true);
  if (reply === undefined) return undefined;
  const headers = new Map(reply.headers.map(([name, value]) => [name.toLowerCase(), value]));
  return { status: reply.status, headers, body: decoded(reply) };
}

/** A stream that follows has no end; its head is enough. */
function isEndless(chunk: Buffer): boolean {
  return /^content-type: (?:application\/x-ndjson|text\/event-stream)/im.test(chunk.toString("latin1"));
}
