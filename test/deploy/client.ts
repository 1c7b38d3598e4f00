import { type Agent, request } from "node:https";
import { rawRequest } from "../support/raw-request.ts";

export interface Asked {
  status: number;
  text: string;
  /** The body, as it was sent. */
  bytes: Buffer;
  headers: Record<string, string | string[] | undefined>;
}

export interface AskOptions {
  method?: string;
  key?: string | undefined;
  body?: object | undefined;
  headers?: Record<string, string>;
  /** The address that it comes from. */
  localAddress?: string;
  /** Kept connections; without them, each request makes one. */
  agent?: Agent;
}

/** Sends a request over TLS to a proxy on this machine. */
export async function ask(
  { port, ca }: { port: number; ca: string },
  path: string,
  { key, body, headers = {}, localAddress = "127.0.0.1", agent, method = body ? "POST" : "GET" }: AskOptions = {},
): Promise<Asked> {
  const fields = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(body && { "content-type": "application/json" }),
    ...headers,
  };
  const options = { family: 4, ca, method, headers: fields, localAddress, agent: agent ?? false };
  const sent = { ...options, ...(body && { body: JSON.stringify(body) }) };
  const reply = await rawRequest(`https://localhost:${port}${path}`, sent);
  return { status: reply.status ?? 0, text: reply.body.toString(), bytes: reply.body, headers: reply.headers };
}

/** Reads the lines of a stream, until it ends or has been read enough. Errors end it, too. */
export function readLines<Line>(
  { port, ca }: { port: number; ca: string },
  path: string,
  take: (line: Line) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const sent = request({ host: "localhost", family: 4, port, ca, path, agent: false, signal }, (response) => {
      let rest = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        const lines = (rest + part).split("\n");
        rest = lines.pop() as string;
        for (const line of lines) if (line !== "") take(JSON.parse(line));
      });
      response.once("error", () => {}).once("close", resolve);
    });
    sent.on("error", () => resolve()).end();
  });
}

/** Resolves with the first receipt of a stream, and leaves it. */
export async function firstReceipt(site: { port: number; ca: string }, from: number): Promise<{ seq: number }> {
  const read = new AbortController();
  let first: { seq: number } | undefined;
  const take = (line: { seq: number }) => {
    first ??= line;
    read.abort();
  };
  await readLines(site, `/api/v1/house/receipts/stream?follow=true&from=${from}`, take, read.signal);
  if (first === undefined) throw new Error("the stream has ended");
  return first;
}
