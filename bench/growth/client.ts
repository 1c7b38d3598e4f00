import { Agent, request as send } from "node:http";

/** A request to a board. */
export interface GrowthRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  /** Sent as JSON. */
  body?: object;
  /** The API key or the token of the operator. */
  key?: string;
}

export interface Reply {
  /** From the sending of the request to the end of the reply, in milliseconds. */
  ms: number;
  text: string;
}

/** Makes calls to one service, one at a time, on one connection. */
export class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** @throws Error for any status but 2xx */
  async call({ method, path, body, key }: GrowthRequest, signal: AbortSignal): Promise<Reply> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    };
    const begun = performance.now();
    const reply = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = send(`${this.#url}${path}`, { method, headers, agent: this.#agent, signal }, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString("utf8") }),
        );
      });
      sent.on("error", reject);
      sent.end(text);
    });
    const ms = performance.now() - begun;
    if (reply.status < 200 || reply.status >= 300) {
      throw new Error(`${method} ${path} is answered ${reply.status}: ${reply.text.slice(0, 300)}`);
    }
    return { ms, text: reply.text };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
