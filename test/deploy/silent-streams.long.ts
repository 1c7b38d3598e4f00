// npm run test:proxies: streams may be silent for longer than a client may take for anything else. The time limits of the
// examples are shortened here.
import { once } from "node:events";
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, it } from "vitest";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { createOperatorClient } from "../../src/client/operator.ts";
import { operatorToken } from "../ledger/support.ts";
import { type Service, startService } from "../support/service.ts";
import { connectTls } from "./attacks/target.ts";
import { firstReceipt } from "./client.ts";
import { proxyNames } from "./examples.ts";
import { startProxy } from "./proxy.ts";

const ways = ["REST", "gRPC", "gRPC-Web", "Connect over HTTP/1.1", "Connect over HTTP/2"] as const;
type Way = (typeof ways)[number];

const soon = "1s";
/** The limits for clients, and for replies that are no streams. */
const limits = {
  Caddy: ["read_header 10s", "idle 75s"],
  nginx: [
    "client_header_timeout 10s",
    "client_body_timeout 10s",
    "send_timeout 45s",
    "keepalive_timeout 75s",
    "proxy_read_timeout 75s",
  ],
  HAProxy: ["timeout client 60s", "timeout http-request 10s", "timeout http-keep-alive 75s", "timeout server 75s"],
};

describe.each(proxyNames)("behind %s", (name) => {
  let service: Service;
  let site: { port: number; ca: string };
  const streams = new Map<Way, Promise<number>>();

  beforeAll(async () => {
    service = await startService({ config: { trustProxy: ["loopback"], operatorToken } });
    const host = new URL(service.url).host;
    const shorten = (config: string) =>
      limits[name].reduce((changed, limit) => {
        if (!changed.includes(limit)) throw new Error(`the example has no ${limit}`);
        return changed.replace(limit, limit.replace(/\d+s$/, soon));
      }, config);
    site = await startProxy(name, [host, host], { edit: shorten });
    const options = { baseUrl: `https://localhost:${site.port}`, nodeOptions: { ca: site.ca, family: 4 } as never };
    const transports: Record<Exclude<Way, "REST">, Transport> = {
      gRPC: createGrpcTransport(options),
      "gRPC-Web": createGrpcWebTransport({ ...options, httpVersion: "1.1" }),
      "Connect over HTTP/1.1": createConnectTransport({ ...options, httpVersion: "1.1" }),
      "Connect over HTTP/2": createConnectTransport({ ...options, httpVersion: "2" }),
    };
    for (const way of ways) {
      const stream = way === "REST" ? firstReceipt(site, 2).then(({ seq }) => seq) : nextReceipt(transports[way]);
      stream.catch(() => {});
      streams.set(way, stream);
    }
    // Each of these connections has said nothing for as long as a client may.
    for (let turn = 0; turn < 3; turn++) await cutForSilence(site.port);
    const session = { book: "books", session: "2020-01-02", note: "", source: "a test" };
    await createOperatorClient(service.url, { operatorToken }).sealSession(session);
  });

  it.each(ways)("a stream that was silent gets the next receipt: %s", async (way) => {
    expect(await streams.get(way)).toBe(2);
  });
});

/** Resolves with the number of the first receipt of a stream that begins after the newest. */
async function nextReceipt(transport: Transport): Promise<number> {
  const stream = createClient(LedgerService, transport).streamReceipts({ follow: true, from: 2n });
  for await (const { receipt } of stream) if (receipt !== undefined) return Number(receipt.seq);
  throw new Error("the stream has ended");
}

/** Shakes hands, says nothing, and resolves when the proxy has closed the connection. */
async function cutForSilence(port: number): Promise<void> {
  await once(connectTls({ port, tally: {} }, "127.0.0.1", "http/1.1"), "close");
}
