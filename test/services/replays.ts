import type { Ask } from "../support/service.ts";

/** A reply to the byte, and whether it says that it is a replay. */
export interface TextReply {
  status: number;
  text: string;
  replayed: string | null;
}

/** Posts to the REST API; an object becomes JSON. */
export async function askText(url: string, path: string, { body, key, headers }: Ask): Promise<TextReply> {
  const response = await fetch(`${url}/api/v1/${path}`, {
    method: "POST",
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const { status } = response;
  return { status, text: await response.text(), replayed: response.headers.get("idempotency-replayed") };
}
