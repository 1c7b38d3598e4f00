import { on } from "node:events";
import type { IncomingMessage } from "node:http";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createConnectRouter, createContextKey, type Interceptor } from "@connectrpc/connect";
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import { type Call, contextValuesOf } from "../../calls/call.ts";
import { outcomeOf } from "../../calls/error-mapping.ts";
import { isLostConnection } from "../../calls/interceptors.ts";
import type { Implementation } from "../../calls/service-table.ts";
import type { RequestContext } from "../requests/context.ts";
import type { HttpRequest } from "../requests/http-messages.ts";
import {
  type Compression,
  compressedFlag,
  compressionNegotiate,
  connect,
  grpc,
  grpcWeb,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "./connect-protocol.ts";
import { binaryOptions, createMessages, type MessageOptions, type Messages, toldOf } from "./messages.ts";
import { respell } from "./status-message.ts";
import { type Envelope, EnvelopeSplitter, enclose, notNamed } from "./unary/envelopes.ts";

/** Makes the call of a streamed RPC. Resolves when the call has begun, or was refused; its reply goes on. */
export type ServeCall = (context: RequestContext, call: Call) => Promise<void>;

/** Serves a streamed RPC by Connect's own handler. */
export function createServeCall(
  rpc: DescMethod,
  implementation: Implementation,
  options: MessageOptions & { interceptors: Interceptor[] },
): ServeCall {
  const invoke = implementation[rpc.localName];
  if (typeof invoke !== "function") throw new Error(`${rpc.parent.typeName}.${rpc.name} has no implementation.`);
  const { compressions: acceptCompression, interceptors } = options;
  const handlerWith = (messages: Messages): UniversalHandler => {
    const { readMaxBytes } = messages;
    const router = createConnectRouter({
      acceptCompression,
      binaryOptions,
      readMaxBytes,
      interceptors: [noteEnd, ...interceptors],
    });
    const [handle] = router.rpc(rpc as never, invoke.bind(implementation) as never).handlers as [UniversalHandler];
    return Object.assign((request: UniversalServerRequest) => handle(withCheckedBody(request, messages)), handle);
  };
  const messages = createMessages(rpc, options);
  const json = handlerWith(messages.json);
  const binary = handlerWith(messages.binary);

  return async (context, call) => {
    checkHead(context.request, messages.json);
    const messagesOfNode = [context.request, context.response] as unknown;
    const [request, response] = messagesOfNode as Parameters<ReturnType<typeof connectNodeAdapter>>;
    const values = contextValuesOf(call).set(requestKey, context);
    const universal = universalRequestFromNodeRequest(request, response, undefined, values);
    // Streams end with our reasons: a client that has left, a stop, too little memory.
    const ending = { ...universal, signal: context.signal };
    const reply = completed(context, await (isJson(ending) ? json(ending) : binary(ending)));
    universalResponseToNodeResponse(reply, response).catch((error) => {
      const { code, cause } = ConnectError.from(error);
      if (code === Code.Aborted || isLostConnection(cause)) return;
      context.log.error({ err: error }, "a stream could not be sent");
    });
  };
}

/** The one key under which the context values of a stream hold its request. */
const requestKey = createContextKey<RequestContext | undefined>(undefined, { description: "the request of a stream" });

/** Notes how a stream ends; the outermost of its interceptors. */
const noteEnd: Interceptor = (next) => async (call) => {
  const { notes } = call.contextValues.get(requestKey) as RequestContext;
  try {
    const response = await next(call);
    if (!response.stream) throw new Error("Unary calls are not served here.");
    return { ...response, message: noteEndOf(response.message, notes) };
  } catch (error) {
    notes.outcome = outcomeOf(error);
    throw error;
  }
};

async function* noteEndOf<T>(messages: AsyncIterable<T>, notes: RequestContext["notes"]): AsyncGenerator<T> {
  // This outcome stays if the consumer leaves before the stream ends.
  notes.outcome = "canceled";
  try {
    yield* messages;
    notes.outcome = "ok";
  } catch (error) {
    notes.outcome = outcomeOf(error);
    throw error;
  }
}

/**
 * Connect's response, completed at the last moment: Connect reads `header` when it writes the head of the response, and
 * `trailer` when the body is complete.
 */
function completed(context: RequestContext, response: UniversalServerResponse): UniversalServerResponse {
  return {
    ...response,
    get header() {
      const header = response.header ?? new Headers();
      for (const [name, value] of Object.entries(context.fields())) header.set(name, value);
      return header;
    },
    /** With a message that every gRPC client can read. */
    get trailer() {
      const { trailer } = response;
      const message = trailer?.get("grpc-message");
      if (message) trailer?.set("grpc-message", respell(message));
      return trailer;
    },
  } as UniversalServerResponse;
}

/**
 * Reads the messages of a body before Connect does. Leaves out the envelopes that are not messages, which mean nothing in a
 * request: Connect would decompress each of them, and there may be thousands. A message that cannot be decoded is the caller's
 * fault; Connect would report it as `internal`.
 */
function withCheckedBody(request: UniversalServerRequest, messages: Messages): UniversalServerRequest {
  const type = request.header.get("content-type") ?? "";
  const isConnect = /^application\/connect\+/i.test(type);
  const ignored = /^application\/grpc-web/i.test(type) ? grpcWeb.trailerFlag : isConnect ? connect.endStreamFlag : 0;
  const encoding = request.header.get(isConnect ? "connect-content-encoding" : "grpc-encoding");
  const compression = messages.compressions.find(({ name }) => name === encoding);
  const { parse } = messages.serialization.getI(!isJson(request));
  const check = async ({ flags, data }: Envelope) => {
    const isCompressed = (flags & compressedFlag) !== 0;
    if (isCompressed && compression === undefined) throw notNamed();
    parse(isCompressed ? await (compression as Compression).decompress(data, messages.readMaxBytes) : data);
  };
  const body = checkEach(chunksOf(request.contextValues?.get(requestKey) as RequestContext), messages, ignored, check);
  return { ...request, body };
}

/**
 * The chunks of a body as they arrive, until the reply is complete. Unlike an iteration of the request itself, one that stops
 * early does not destroy the request: what its client still sends can then be dropped.
 * @throws the reason why the request was aborted
 */
async function* chunksOf({ request, response, signal }: RequestContext): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  const message = request as unknown as IncomingMessage;
  const arriving = on(message, "data", { signal, close: ["end"], highWaterMark: 4, lowWaterMark: 2 });
  // The port then lets the rest of the body flow. Without a reader, all of it would be kept here.
  const stop = () => void arriving.return?.();
  const reply = response.stream ?? response;
  reply.on("finish", stop);
  try {
    for await (const [chunk] of arriving) yield chunk;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    reply.off("finish", stop);
  }
}

/** @param ignored the flag of the envelopes that are left out */
async function* checkEach(
  body: AsyncIterable<Buffer>,
  { rpc, readMaxBytes }: Messages,
  ignored: number,
  check: (envelope: Envelope) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const splitter = new EnvelopeSplitter(readMaxBytes);
  let count = 0;
  try {
    for await (const chunk of body) {
      for (const envelope of splitter.push(chunk)) {
        if ((envelope.flags & ignored) !== 0) continue;
        count += 1;
        if (count > 1) checkCount(count, rpc);
        await check(envelope);
        yield enclose(envelope.flags, envelope.data);
      }
    }
    splitter.end();
    checkCount(count, rpc);
  } catch (error) {
    throw error instanceof ConnectError ? toldOf(error, rpc) : error;
  }
}

/** @throws ConnectError for more or fewer messages than the one that a stream of responses is asked for with */
function checkCount(count: number, { methodKind }: DescMethod): void {
  if (methodKind !== "server_streaming" || count === 1) return;
  const fault = count === 0 ? "missing input message" : "received extra input message";
  throw new ConnectError(`protocol error: ${fault} for server-streaming method`, Code.Unimplemented);
}

/** @throws ConnectError for a head that Connect would refuse without a detail */
function checkHead({ headers }: HttpRequest, { rpc, compressions }: Messages): void {
  const isConnect = /^application\/connect\+/i.test(headers["content-type"] ?? "");
  const field = (name: string) => (headers[name] as string | undefined) ?? null;
  const prefix = isConnect ? "connect-content" : "grpc";
  const accepting = isConnect ? "connect-accept-encoding" : "grpc-accept-encoding";
  const { error } = compressionNegotiate(compressions, field(`${prefix}-encoding`), field(accepting), accepting);
  const max = Number.MAX_SAFE_INTEGER;
  const timeout = isConnect
    ? connect.parseTimeout(field("connect-timeout-ms"), max)
    : grpc.parseTimeout(field("grpc-timeout"), max);
  const fault = error ?? timeout.error;
  if (fault !== undefined) throw toldOf(fault, rpc);
}

function isJson({ header }: UniversalServerRequest): boolean {
  return /[/+]json\b/i.test(header.get("content-type") ?? "");
}

/** Whether a content type is that of a stream. */
export function isStreamType(contentType = ""): boolean {
  const web = grpcWeb.parseContentType(contentType);
  if (web !== undefined) return !web.text;
  return grpc.parseContentType(contentType) !== undefined || connect.parseContentType(contentType)?.stream === true;
}
