import { setTimeout as sleep } from "node:timers/promises";
import type { DescService } from "@bufbuild/protobuf";
import { type CallOptions, type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import type { World } from "./world.ts";

/** Calls the replicas by gRPC as their operator. */
export class OperatorCaller {
  readonly #world: World;
  readonly #token: string;
  readonly #transports = new Map<string, Transport>();

  constructor(world: World, token: string) {
    this.#world = world;
    this.#token = token;
  }

  /** Repeats a call until it is acknowledged. @throws ConnectError if it is finally refused */
  async call<Desc extends DescService, Reply>(
    service: Desc,
    work: (client: Client<Desc>, options: CallOptions) => Promise<Reply>,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const { random, urls } = this.#world;
    for (;;) {
      // Sometimes there is too little time. Then it is unknown here whether the call took effect.
      const timeoutMs = random.chance(0.2) ? 1 + random.below(30) : 10_000;
      try {
        const client = createClient(service, this.#transport(random.pick(urls())));
        return await work(client, { headers: { authorization: `Bearer ${this.#token}`, ...headers }, timeoutMs });
      } catch (error) {
        const { code, rawMessage } = ConnectError.from(error);
        const passing = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Aborted];
        // A stopping replica refuses streams that begin after its GOAWAY. Connect's client does not always report this by
        // the code.
        if (!passing.includes(code) && !rawMessage.includes("NGHTTP2_REFUSED_STREAM")) throw error;
        await sleep(random.below(200));
      }
    }
  }

  #transport(baseUrl: string): Transport {
    const known = this.#transports.get(baseUrl);
    if (known !== undefined) return known;
    const transport = createGrpcTransport({ baseUrl });
    this.#transports.set(baseUrl, transport);
    return transport;
  }
}
