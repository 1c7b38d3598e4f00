import { type CallOptions, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { ErrorDetailSchema } from "../../../gen/stoa/v1/error_pb.js";
import { LedgerService } from "../../../gen/stoa/v1/ledger_service_pb.js";
import type { StreamLimits } from "../../../src/rate-limits/stream-limits.ts";
import { defaultStreamLimits } from "../../../src/rate-limits/stream-limits.ts";
import { afterFile } from "../../support/after-file.ts";
import { type Service, type ServiceOptions, startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";

/** Every kind of stream that the service has. */
export const kinds = [
  "receipts grpc",
  "receipts grpc-web",
  "receipts connect",
  "receipts ndjson",
  "receipts sse",
  "watch grpc",
  "watch grpc-web",
  "watch connect",
  "reflection v1",
  "reflection v1alpha",
] as const;
export type Kind = (typeof kinds)[number];

/** What a stream was refused or ended with. */
export interface Failure {
  code: string;
  message: string;
  retryAfterSeconds: number;
  /** Over REST, where the refusal came before the stream. */
  status?: number;
}

/** What it takes to open streams. */
type Target = Pick<Service, "url" | "connect">;

export interface Streaming extends Service {
  /** The same service over one connection, as far as gRPC is concerned. */
  connectOnce(): Target & { close(): void };
  readonly port: number;
  /** How many streams are open, as the metrics have it. */
  open(): Promise<number>;
  /** Resolves when as many streams are open. */
  untilOpen(count: number): Promise<void>;
}

const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };

/** The service with other caps on streams. */
export async function startStreaming(
  limits: Partial<StreamLimits> = {},
  { config, ...rest }: ServiceOptions = {},
): Promise<Streaming> {
  const service = await startService({
    ...rest,
    config: { streams: { ...defaultStreamLimits, ...limits }, metrics, ...config },
  });
  const open = async () => {
    const text = await (await fetch(service.app.metricsUrl as string)).text();
    return Number(/^stoa_streams_open (\S+)$/m.exec(text)?.[1]);
  };
  return {
    ...service,
    port: Number(new URL(service.url).port),
    open,
    untilOpen: (count) => waitUntil(`${count} open streams`, async () => (await open()) === count),
    connectOnce() {
      const sessionManager = new Http2SessionManager(service.url);
      const close = () => sessionManager.abort();
      afterFile(close);
      const transport = createGrpcTransport({ baseUrl: service.url, sessionManager });
      return { url: service.url, connect: (desc) => createClient(desc, transport), close };
    },
  };
}

/** A stream as the client has it: its first message has come. */
export interface Opened {
  /** Resolves when the stream ends: with the failure, or with undefined at a plain end. */
  readonly ended: Promise<Failure | undefined>;
  leave(): void;
}

/** Opens a stream and reads it to its end. @throws Failure where it is refused */
export async function openStream(
  { url, connect }: Target,
  kind: Kind,
  headers: Record<string, string> = {},
): Promise<Opened> {
  const client = new AbortController();
  // A service that stops would wait for a client that has not ended its side.
  afterFile(() => client.abort());
  const options: CallOptions = { signal: client.signal, headers };
  const begun = Promise.withResolvers<void>();
  const messages =
    kind.includes("ndjson") || kind.includes("sse") ? readRest(url, kind, options) : readRpc(connect, kind, options);
  const ended = (async () => {
    try {
      for await (const _ of messages) begun.resolve();
    } catch (error) {
      return toFailure(error);
    }
    return undefined;
  })();
  const refused = await Promise.race([begun.promise, ended]);
  if (refused !== undefined) throw refused;
  return { ended, leave: () => client.abort() };
}

function readRpc(connect: Service["connect"], kind: Kind, options: CallOptions): AsyncIterable<unknown> {
  const [what, protocol] = kind.split(" ") as [string, "connect" | "grpc" | "grpc-web"];
  if (what === "receipts") return connect(LedgerService, protocol).streamReceipts({ follow: true }, options);
  if (what === "watch") return connect(Health, protocol).watch({}, options);
  const service = kind === "reflection v1" ? ServerReflection : ServerReflectionAlpha;
  return connect(service, "grpc").serverReflectionInfo(askOnce(options.signal as AbortSignal), options);
}

/** One request, and then silence. */
async function* askOnce(signal: AbortSignal) {
  yield { messageRequest: { case: "listServices" as const, value: "*" } };
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

class Refusal extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

async function* readRest(url: string, kind: Kind, { signal, headers }: CallOptions): AsyncGenerator<string> {
  const accept = kind === "receipts sse" ? "text/event-stream" : "*/*";
  const response = await fetch(`${url}/api/v1/house/receipts/stream?follow=true`, {
    headers: { accept, ...(headers as Record<string, string>) },
    signal: signal ?? null,
  });
  if (response.status !== 200) throw new Refusal(fromShape((await response.json()) as Shape, response.status));
  let text = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    // A failure may come in one piece with the messages before it, or in two.
    text += Buffer.from(chunk).toString();
    if (/"ok":false.*\}\n/.test(text)) break;
    yield text;
  }
  const [, event] = /^(?:data: )?(\{"ok":false.*\})\n+$/m.exec(text) ?? [];
  if (event !== undefined) throw new Refusal(fromShape(JSON.parse(event)));
}

interface Shape {
  error: string;
  message: string;
  retry_after_seconds: number;
}

function fromShape(shape: Shape, status?: number): Failure {
  const { error: code, message, retry_after_seconds: retryAfterSeconds } = shape;
  return { code, message, retryAfterSeconds, ...(status === undefined ? {} : { status }) };
}

function toFailure(error: unknown): Failure {
  if (error instanceof Refusal) return error.failure;
  if (!(error instanceof ConnectError)) return { code: (error as Error).name, message: "", retryAfterSeconds: 0 };
  const [detail] = error.findDetails(ErrorDetailSchema);
  return { code: detail?.error ?? "", message: error.rawMessage, retryAfterSeconds: Number(detail?.retryAfterSeconds) };
}
