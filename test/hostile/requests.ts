// Floods of whole requests over connections that are kept alive.
import { Agent, type OutgoingHttpHeaders } from "node:http";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect } from "vitest";
import { rawRequest } from "../support/raw-request.ts";
import type { Victim } from "./support.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 32 });

export interface Ask {
  path: string;
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
}

/** How a body may be sent. */
export const encodings: Readonly<Record<string, (text: string) => Buffer>> = {
  br: (text) => brotliCompressSync(text),
  gzip: (text) => gzipSync(text),
  identity: (text) => Buffer.from(text),
};

/**
 * Attacks with these requests, 32 at a time. Every reply is a success, a refusal, or says that the service is busy.
 * @param known further statuses that may come
 */
export async function flood(victim: Victim, asks: readonly Ask[], known: readonly number[] = []): Promise<void> {
  const statuses = new Map<number, number>();
  const rest = asks.values();
  const worker = async () => {
    for (const { path, ...options } of rest) {
      const { status = 0 } = await rawRequest(victim.url + path, { agent, ...options });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await victim.during(() => Promise.all(Array.from({ length: 32 }, worker)));
  const all = [200, 400, 403, 404, 413, 414, 429, 431, 503, ...known];
  const others = [...statuses.keys()].filter((status) => !all.includes(status));
  expect(others, String([...statuses])).toEqual([]);
}
