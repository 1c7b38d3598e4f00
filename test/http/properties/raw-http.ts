// HTTP/1.1 as bytes, for what no client would send.
import { exchangeBytes } from "../recorded/exchange.ts";
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
export async function exchange(url: string, request: RawRequest): Promise<RawReply | undefined> {
  const { method, target, body, isCutOff } = request;
  const head = request.headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const start = Buffer.from(`${method} ${target} HTTP/1.1\r\n${head}\r\n`, "latin1");
  const reply = await exchangeBytes(url, Buffer.concat([start, body]), method, isCutOff);
  if (reply === undefined) return undefined;
  const headers = new Map(reply.headers.map(([name, value]) => [name.toLowerCase(), value]));
  return { status: reply.status, headers, body: decoded(reply) };
}
