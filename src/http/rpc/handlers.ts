import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import type { DescMethod } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ContextValues,
  createConnectRouter,
} from "@connectrpc/connect";
import {
  type Compression,
  compressedFlag,
  type UniversalHandler,
  type UniversalServerRequest,
} from "@connectrpc/connect/protocol";
import { endStreamFlag } from "@connectrpc/connect/protocol-connect";
import { trailerFlag } from "@connectrpc/connect/protocol-grpc-web";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import type { Implementation } from "../../calls/service-table.ts";
import { maxBinarySize } from "../../contract/message-limits.ts";
import { badInput } from "../../errors.ts";
import type { RequestBodies } from "../requests/bodies.ts";
import { RpcResponse } from "./response.ts";
import { requestOf } from "./stream-calls.ts";
import { type Envelope, EnvelopeSplitter, enclose } from "./unary/envelopes.ts";
import { createMessages, type MessageOptions, type Messages } from "./unary/exchange.ts";

const brotli = promisify(brotliCompress);

/** With Connect's own settings, Brotli takes seconds for a large reply. */
const algorithms: Compression[] = [
  compressionGzip,
  {
    ...compressionBrotli,
    compress: async (bytes) => new Uint8Array(await brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })),
  },
];
/** The compressions of RPCs. Few requests are decompressed at a time. */
export function createCompressions(bodies: RequestBodies): Compression[] {
  return algorithms.map((compression) => ({
    ...compression,
    decompress: (bytes, maxBytes) => bodies.decompress(() => compression.decompress(bytes, maxBytes)),
  }));
}

/** How a streamed RPC is served. `readMaxBytes` is the limit of its JSON messages. */
export type StreamOptions = Pick<ConnectRouterOptions, "interceptors" | "binaryOptions"> & MessageOptions;

/** Adds a streamed RPC to a router. Binary messages have limits of their own by RPC; JSON messages have `readMaxBytes`. */
export function addStream(
  router: ConnectRouter,
  rpc: DescMethod,
  implementation: Implementation,
  options: StreamOptions,
): void {
  const invoke = implementation[rpc.localName];
  if (typeof invoke !== "function") throw new Error(`${rpc.parent.typeName}.${rpc.name} has no implementation.`);
  const handlerWith = (readMaxBytes: number): UniversalHandler => {
    const alone = createConnectRouter();
    alone.rpc(rpc as never, invoke.bind(implementation) as never, {
      ...options,
      acceptCompression: options.compressions,
      readMaxBytes,
    });
    const [handler] = alone.handlers as [UniversalHandler];
    const check = checkMessages(createMessages(rpc, { ...options, readMaxBytes }));
    return Object.assign((request: UniversalServerRequest) => handler(check(request)), handler);
  };
  const json = handlerWith(options.readMaxBytes);
  const binary = handlerWith(maxBinarySize(rpc.input, options.readMaxBytes));
  const handle = async (request: UniversalServerRequest) => {
    const context = requestOf(request.contextValues as ContextValues);
    // Streams end with our reasons: a client that has left, a stop, too little memory.
    const ending = { ...request, signal: context.signal };
    return new RpcResponse(context, await (isJson(request) ? json(ending) : binary(ending)));
  };
  const { service, method, requestPath, supportedContentType, protocolNames, allowedMethods } = json;
  const described = { service, method, requestPath, supportedContentType, protocolNames, allowedMethods };
  router.handlers.push(Object.assign(handle, described));
}

/**
 * Reads the messages of a body before Connect does. Leaves out the envelopes that are not messages, which mean nothing in a
 * request: Connect would decompress each of them, and there may be thousands. The caller is to blame for a message that cannot
 * be decoded; Connect would report it as `internal`.
 */
function checkMessages(messages: Messages): (request: UniversalServerRequest) => UniversalServerRequest {
  return (request) => {
    const type = request.header.get("content-type") ?? "";
    const isWeb = /^application\/grpc-web/i.test(type);
    const isConnect = /^application\/connect\+/i.test(type);
    const ignored = isWeb ? trailerFlag : isConnect ? endStreamFlag : 0;
    const encoding = request.header.get(isConnect ? "connect-content-encoding" : "grpc-encoding");
    const compression = messages.compressions.find(({ name }) => name === encoding);
    const { parse } = messages.serialization.getI(!isJson(request));
    const check = async ({ flags, data }: Envelope) => {
      const isCompressed = (flags & compressedFlag) !== 0;
      // Connect refuses what is compressed in an unknown way.
      if (isCompressed && compression === undefined) return;
      try {
        parse(isCompressed ? await (compression as Compression).decompress(data, messages.readMaxBytes) : data);
      } catch (error) {
        blameCaller(error, messages.rpc);
        throw error;
      }
    };
    return {
      ...request,
      body: checkEach(request.body as AsyncIterable<Buffer>, messages.readMaxBytes, ignored, check),
    };
  };
}

/** @param ignored the flag of the envelopes that are left out */
async function* checkEach(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  ignored: number,
  check: (envelope: Envelope) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const splitter = new EnvelopeSplitter(maxBytes);
  for await (const chunk of body) {
    for (const envelope of splitter.push(chunk)) {
      if ((envelope.flags & ignored) !== 0) continue;
      await check(envelope);
      yield enclose(envelope.flags, envelope.data);
    }
  }
  splitter.end();
}

function isJson({ header }: UniversalServerRequest): boolean {
  return /[/+]json\b/i.test(header.get("content-type") ?? "");
}

/** Changes the failure of a message that cannot be decoded: the caller is to blame. @returns false for other failures */
export function blameCaller(reason: unknown, { input }: DescMethod): boolean {
  repairMessage(reason);
  if (!isUndecodable(reason)) return false;
  const rawMessage = `The message is not a ${input.typeName}.`;
  Object.assign(reason, { code: Code.InvalidArgument, rawMessage, cause: badInput(undefined, rawMessage) });
  return true;
}

/** JSON.parse quotes a character that it does not expect, or half of one. gRPC could not encode half a character. */
function repairMessage(reason: unknown): void {
  if (!(reason instanceof ConnectError) || reason.rawMessage.isWellFormed()) return;
  Object.assign(reason, { rawMessage: reason.rawMessage.toWellFormed() });
}

function isUndecodable(reason: unknown): reason is ConnectError {
  return (
    reason instanceof ConnectError &&
    reason.code === Code.Internal &&
    /^(?:parse binary: |decompression failed)/.test(reason.rawMessage)
  );
}
