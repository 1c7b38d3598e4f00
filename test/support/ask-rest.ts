import { reportFault } from "./openapi/received.ts";

/** A JSON reply of the service, as a client sees it. */
export interface Reply {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies as an untyped client does.
  body: any;
}

export interface Ask {
  method?: string;
  /** An API key for the Authorization header. */
  key?: string | undefined;
  /** An object becomes JSON; a string or bytes are sent as they are. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls a REST address and parses the reply as JSON, whatever its status. */
export async function askRest(url: string, path: string, ask: Ask = {}): Promise<Reply> {
  const { body, key } = ask;
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(path.startsWith("/") ? url + path : `${url}/api/v1/${path}`, {
    method: ask.method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...ask.headers },
    ...(body === undefined ? {} : { body: raw ? (body as NonNullable<RequestInit["body"]>) : JSON.stringify(body) }),
  });
  const text = await response.text();
  reportFault(ask.method ?? (body === undefined ? "GET" : "POST"), response, text);
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}
