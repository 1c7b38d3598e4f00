// What attacks send: messages, and floods of whole requests over connections that are kept alive.
import { Agent, type OutgoingHttpHeaders, request } from "node:http";

const agent = new Agent({ keepAlive: true, maxSockets: 32 });

export interface Ask {
  path: string;
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
}

/** A message as gRPC frames it, and Connect and gRPC-Web too. @param flags 1: it is compressed */
export function envelope(message: Buffer, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Makes a request and reads its reply to the end. Resolves with the status. */
function ask(url: string, { path, method = "GET", headers = {}, body }: Ask): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url + path, { agent, method, headers }, (response) => {
      response.on("end", () => resolve(response.statusCode as number)).on("error", reject);
      response.resume();
    })
      .on("error", reject)
      .end(body);
  });
}

/** Makes requests, 32 at a time, and returns how often each status came. */
export async function askAll(url: string, asks: readonly Ask[]): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const rest = asks.values();
  const worker = async () => {
    for (const each of rest) {
      const status = await ask(url, each);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  return statuses;
}
