import { setTimeout as sleep } from "node:timers/promises";
import type { DescService } from "@bufbuild/protobuf";
import { type CallOptions, type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import type { World } from "./world.ts";

const passing = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Aborted];

/**
 * Calls the replicas by gRPC as their operator. The caller repeats a call until it is acknowledged.
 * @throws ConnectError if it is finally refused
 */
export function operatorCaller({ random, urls }: World, token: string) {
  const transports = new Map<string, Transport>();
  return async <Desc extends DescService, Reply>(
    service: Desc,
    work: (client: Client<Desc>, options: CallOptions) => Promise<Reply>,
    fields: Record<string, string> = {},
  ): Promise<Reply> => {
    const headers = { authorization: `Bearer ${token}`, ...fields };
    for (;;) {
      // Sometimes there is too little time. Then it is unknown here whether the call took effect.
      const timeoutMs = random.chance(0.2) ? 1 + random.below(30) : 10_000;
      try {
        const baseUrl = random.pick(urls());
        const transport = transports.get(baseUrl) ?? createGrpcTransport({ baseUrl });
        transports.set(baseUrl, transport);
        return await work(createClient(service, transport), { headers, timeoutMs });
      } catch (error) {
        const { code, rawMessage } = ConnectError.from(error);
        // A stopping replica refuses streams that begin after its GOAWAY. Connect's client does not always report this by
        // the code.
        if (!passing.includes(code) && !rawMessage.includes("NGHTTP2_REFUSED_STREAM")) throw error;
        await sleep(random.below(200));
      }
    }
  };
}
