import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { respell } from "../grpc/status-message.ts";
import type { RequestContext } from "../requests/context.ts";

/**
 * Connect's response to an RPC, completed at the last moment: Connect reads `header` when it writes the head of the
 * response, and `trailer` when the body is complete.
 */
export class RpcResponse implements UniversalServerResponse {
  readonly status: number;
  readonly #context: RequestContext;
  readonly #response: UniversalServerResponse;

  constructor(context: RequestContext, response: UniversalServerResponse) {
    this.status = response.status;
    this.#context = context;
    this.#response = response;
  }

  get body(): AsyncIterable<Uint8Array> {
    return this.#response.body as AsyncIterable<Uint8Array>;
  }

  /** With how the caller stands with the rate limits. */
  get header(): Headers {
    const { request, limits } = this.#context;
    const header = this.#response.header ?? new Headers();
    if (isIncomplete(request)) header.set("connection", "close");
    for (const [name, value] of Object.entries(limits.fields())) header.set(name, value);
    return header;
  }

  /** With a message that every gRPC client can read. */
  get trailer(): Headers {
    const trailer = this.#response.trailer as Headers;
    const message = trailer?.get("grpc-message");
    if (message) trailer.set("grpc-message", respell(message));
    return trailer;
  }
}

/**
 * Whether a client must not use its connection again. Connect stops reading a message that is too large, and Node then reads
 * no more of an HTTP/1.1 connection, so a response may begin before the whole request has arrived.
 */
export function isIncomplete({ httpVersionMajor, complete }: RequestContext["request"]): boolean {
  return httpVersionMajor === 1 && !complete;
}
