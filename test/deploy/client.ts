import { type Agent, request } from "node:https";

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
export function ask(
  { port, ca }: { port: number; ca: string },
  path: string,
  { key, body, headers = {}, localAddress = "127.0.0.1", agent, method = body ? "POST" : "GET" }: AskOptions = {},
): Promise<Asked> {
  const fields = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(body && { "content-type": "application/json" }),
    ...headers,
  };
  const target = { host: "localhost", family: 4, port, ca, path, method, headers: fields, localAddress };
  return new Promise((resolve, reject) => {
    const sent = request({ ...target, agent: agent ?? false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => {
        const bytes = Buffer.concat(parts);
        resolve({ status: response.statusCode ?? 0, text: bytes.toString(), bytes, headers: response.headers });
      });
      response.on("error", reject);
    });
    sent.on("error", reject).end(body && JSON.stringify(body));
  });
}
