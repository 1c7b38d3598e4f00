import { type Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export interface Call {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Begins with a slash. */
  path: string;
  body?: unknown;
  apiKey?: string | undefined;
  idempotencyKey?: string | undefined;
  /** Whether replies to repeats may differ, because others change what they show. */
  changing?: boolean;
}

/** A complete reply. */
export interface WireReply {
  status: number;
  replayed: boolean;
  text: string;
}

/** A definite reply: the request has taken effect, or was finally refused. */
export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an untyped client reads replies in this way.
  body: any;
}

/** When a connection is cut: a number of milliseconds after the request was begun, or in the middle of its body. */
export type Cut = { afterMs: number } | "amid-body" | undefined;

/**
 * Sends one request and resolves with its reply. Resolves with undefined if there is no reply: one side cut the connection,
 * and it is unknown here whether the request took effect.
 */
export async function send(agent: Agent, url: string, call: Call, cut: Cut): Promise<WireReply | undefined> {
  const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
  const headers: Record<string, string | number> = {};
  if (call.apiKey !== undefined) headers.authorization = `Bearer ${call.apiKey}`;
  if (call.idempotencyKey !== undefined) headers["idempotency-key"] = call.idempotencyKey;
  headers["content-length"] = body?.length ?? 0;
  const outgoing = request(url + call.path, { agent, method: call.method, headers });
  const reply = new Promise<WireReply | undefined>((resolve) => {
    outgoing.once("error", () => resolve(undefined));
    outgoing.once("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.once("close", () => resolve(undefined));
      response.once("end", () => {
        resolve({
          status: response.statusCode as number,
          replayed: response.headers["idempotency-replayed"] === "true",
          text: Buffer.concat(parts).toString(),
        });
      });
    });
  });
  if (cut === "amid-body" && body !== undefined) {
    outgoing.write(body.subarray(0, body.length >> 1));
    await sleep(1);
    outgoing.destroy();
    return reply;
  }
  outgoing.end(body);
  if (cut === undefined || cut === "amid-body") return reply;
  const timer = setTimeout(() => outgoing.destroy(), cut.afterMs);
  const outcome = await reply;
  clearTimeout(timer);
  return outcome;
}
