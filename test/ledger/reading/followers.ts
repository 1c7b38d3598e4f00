import { Code, ConnectError } from "@connectrpc/connect";
import type { Service } from "../../support/service.ts";
import { ledgerClient } from "../support.ts";

/** The five ways to receive the stream of receipts. */
export const forms = ["grpc", "grpc-web", "connect", "ndjson", "sse"] as const;
export type Form = (typeof forms)[number];

export interface Query {
  from?: number;
  follow?: boolean;
}

/** A receipt as it was received, by any of these ways. */
export interface Received {
  seq: number;
  hash: string;
  prevHash: string;
  canonical: string;
}

/** How a stream failed: the RPC code, or the REST error, with the status if nothing else had been sent. */
export class StreamFailure extends Error {
  readonly code: string;
  readonly status: number | undefined;

  constructor(code: string, status?: number) {
    super(`the stream failed: ${code}`);
    this.code = code;
    this.status = status;
  }
}

/** Receives receipts one by one; `signal` is how the client leaves. @throws StreamFailure */
export function receive(
  service: Service,
  form: Form,
  query: Query,
  signal: AbortSignal = new AbortController().signal,
): AsyncGenerator<Received, void> {
  if (form === "ndjson" || form === "sse") return receiveRest(service, form, query, signal);
  return receiveRpc(service, form, query, signal);
}

async function* receiveRpc(service: Service, form: "grpc" | "grpc-web" | "connect", query: Query, signal: AbortSignal) {
  const { from, follow = false } = query;
  const request = { ...(from === undefined ? {} : { from: BigInt(from) }), follow };
  try {
    for await (const { receipt } of ledgerClient(service, form).streamReceipts(request, { signal })) {
      if (receipt === undefined) throw new Error("a message without a receipt");
      const { seq, hash, prevHash, canonical } = receipt;
      yield { seq: Number(seq), hash, prevHash, canonical };
    }
  } catch (error) {
    throw error instanceof ConnectError ? new StreamFailure(Code[error.code]) : error;
  }
}

async function* receiveRest(service: Service, form: "ndjson" | "sse", query: Query, signal: AbortSignal) {
  for await (const { event, data } of receiveParts(service, form, query, signal)) {
    const json = JSON.parse(data);
    if (json.ok === false || event === "error") throw new StreamFailure(json.error);
    const { seq, hash, prev_hash, canonical } = json;
    yield { seq, hash, prevHash: prev_hash, canonical };
  }
}

export interface Part {
  event?: string;
  id?: string;
  data: string;
}

/** The lines or events of a REST stream. @throws StreamFailure with the status if there is no stream */
export async function* receiveParts(
  service: Service,
  form: "ndjson" | "sse",
  { from, follow }: Query,
  signal: AbortSignal,
  headers: Record<string, string> = {},
  path = "house/receipts/stream",
): AsyncGenerator<Part, void> {
  const query = new URLSearchParams();
  if (from !== undefined) query.set("from", String(from));
  if (follow !== undefined) query.set("follow", String(follow));
  const response = await fetch(`${service.url}/api/v1/${path}?${query}`, {
    headers: { ...(form === "sse" ? { accept: "text/event-stream" } : {}), ...headers },
    signal,
  });
  if (response.status !== 200) {
    const { error } = (await response.json()) as { error: string };
    throw new StreamFailure(error, response.status);
  }
  const end = form === "sse" ? "\n\n" : "\n";
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split(end);
    rest = parts.pop() as string;
    for (const part of parts) {
      if (part === "") continue;
      if (form === "ndjson") yield { data: part };
      else if (!part.startsWith(":")) yield toEvent(part);
    }
  }
  if (rest !== "") throw new Error(`the stream ended in the midst of a message: ${rest.slice(0, 100)}`);
}

function toEvent(text: string): Part {
  const part: Part = { data: "" };
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^(event|id|data): (.*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a line of an event: ${line}`);
    part[name as keyof Part] = value;
  }
  return part;
}

/** Reads the next `count` receipts of a stream. */
export async function take(stream: AsyncGenerator<Received, void>, count: number): Promise<Received[]> {
  const taken: Received[] = [];
  while (taken.length < count) {
    const next = await stream.next();
    if (next.done) throw new Error(`the stream ended after ${taken.length} of ${count} receipts`);
    taken.push(next.value);
  }
  return taken;
}

/** Reads a stream to its end. */
export async function drain<T>(stream: AsyncGenerator<T, void>): Promise<T[]> {
  const taken: T[] = [];
  for await (const each of stream) taken.push(each);
  return taken;
}
