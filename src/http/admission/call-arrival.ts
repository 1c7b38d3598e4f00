import type { DescMethod } from "@bufbuild/protobuf";
import type { RequestContext } from "../requests/context.ts";
import type { Arrival } from "./authentication.ts";

/** The arrival of a unary call. A class, so that the signal is made only for a call that needs it. */
export class CallArrival implements Arrival {
  readonly rpc: DescMethod;
  readonly #context: RequestContext;

  constructor(rpc: DescMethod, context: RequestContext) {
    this.rpc = rpc;
    this.#context = context;
    this.header = this.header.bind(this);
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  /** Node joins the values of a header that is sent twice; only Set-Cookie is a list. */
  header(name: string): string | null {
    return (this.#context.request.headers[name] as string | undefined) ?? null;
  }
}
