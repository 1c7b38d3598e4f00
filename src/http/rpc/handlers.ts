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
  type HandlerContext,
} from "@connectrpc/connect";
import type { Compression, UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { endStreamFlag } from "@connectrpc/connect/protocol-connect";
import { trailerFlag } from "@connectrpc/connect/protocol-grpc-web";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { requestOf } from "../../calls/context.ts";
import type { RequestBodies } from "../../calls/request-bodies.ts";
import type { Implementation } from "../../calls/service-table.ts";
import { maxBinarySize } from "../../contract/message-limits.ts";
import { RpcResponse } from "./response.ts";
import { EnvelopeSplitter, enclose } from "./unary/envelopes.ts";

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

/** Connect's options for one service, with the limit that its JSON messages have. */
export type ServiceOptions = ConnectRouterOptions & { readMaxBytes: number };

/** Adds a streamed RPC to a router. Binary messages have limits of their own by RPC; JSON messages have `readMaxBytes`. */
export function addStream(
  router: ConnectRouter,
  rpc: DescMethod,
  implementation: Implementation,
  options: ServiceOptions,
): void {
  const invoke = implementation[rpc.localName];
  if (typeof invoke !== "function") throw new Error(`${rpc.parent.typeName}.${rpc.name} has no implementation.`);
  const handlerWith = (readMaxBytes: number): UniversalHandler => {
    const alone = createConnectRouter();
    alone.rpc(rpc as never, invoke.bind(implementation) as never, { ...options, readMaxBytes });
    const [handler] = alone.handlers as [UniversalHandler];
    return Object.assign((request: UniversalServerRequest) => handler(messagesOnly(request, readMaxBytes)), handler);
  };
  const json = handlerWith(options.readMaxBytes);
  const binary = handlerWith(maxBinarySize(rpc.input, options.readMaxBytes));
  const handle = async (request: UniversalServerRequest) => {
    const response = await (isJson(request) ? json(request) : binary(request));
    return new RpcResponse(requestOf(request.contextValues as ContextValues), response);
  };
  const { service, method, requestPath, supportedContentType, protocolNames, allowedMethods } = json;
  const described = { service, method, requestPath, supportedContentType, protocolNames, allowedMethods };
  router.handlers.push(Object.assign(handle, described));
}

/**
 * Leaves out the envelopes of a body that are not messages, which mean nothing in a request. Connect would decompress each of
 * them, and there may be thousands.
 */
function messagesOnly(request: UniversalServerRequest, maxBytes: number): UniversalServerRequest {
  const type = request.header.get("content-type") ?? "";
  const flag = /^application\/grpc-web/i.test(type)
    ? trailerFlag
    : /^application\/connect\+/i.test(type) && endStreamFlag;
  return flag ? { ...request, body: withoutFlag(request.body as AsyncIterable<Buffer>, flag, maxBytes) } : request;
}

async function* withoutFlag(body: AsyncIterable<Buffer>, flag: number, maxBytes: number): AsyncGenerator<Uint8Array> {
  const splitter = new EnvelopeSplitter(maxBytes);
  for await (const chunk of body) {
    for (const { flags, data } of splitter.push(chunk)) if ((flags & flag) === 0) yield enclose(flags, data);
  }
  splitter.end();
}

function isJson({ header }: UniversalServerRequest): boolean {
  return /[/+]json\b/i.test(header.get("content-type") ?? "");
}

/**
 * Makes Connect blame the caller for a message that cannot be decoded, in every protocol. Connect reports it as `internal`
 * before any interceptor runs, and aborts the call's context with the failure before it writes the failure.
 * @param onUndecodable called for such a call
 */
export function blameUndecodable(context: HandlerContext, onUndecodable: () => void): void {
  const ending = context as HandlerContext & { abort(reason?: unknown): void };
  const { abort } = ending;
  ending.abort = (reason) => {
    if (blameCaller(reason, context.method)) onUndecodable();
    abort(reason);
  };
}

/** Changes the failure of a message that cannot be decoded: the caller is to blame. @returns false for other failures */
export function blameCaller(reason: unknown, { input }: DescMethod): boolean {
  repairMessage(reason);
  if (!isUndecodable(reason)) return false;
  Object.assign(reason, { code: Code.InvalidArgument, rawMessage: `The message is not a ${input.typeName}.` });
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
