// Minimal clients of StreamReceipts. They count messages without decoding them, because they share the machine with the service.
import http from "node:http";
import http2 from "node:http2";
import type { Readable } from "node:stream";
import { create, toBinary } from "@bufbuild/protobuf";
import { LedgerService, StreamReceiptsRequestSchema } from "../../gen/stoa/v1/ledger_service_pb.js";

/** An open stream on its own connection. */
export interface OpenStream {
  body: Readable;
  /** Takes the bytes that were read. Returns the number of messages so far. */
  count(chunk: Buffer): number;
  close(): void;
}

export interface StreamProtocol {
  name: string;
  /** Requests the receipts from `from` on. `roomy` means a large window, for a client that reads as fast as possible. */
  open(url: string, query: { from: number; follow: boolean; roomy: boolean }): Promise<OpenStream>;
}

const rpcPath = `/${LedgerService.typeName}/${LedgerService.method.streamReceipts.name}`;
const roomyWindow = 1 << 20;

export const streamProtocols: StreamProtocol[] = [
  {
    name: "ndjson",
    open: (url, { from, follow }) =>
      overHttp1(http.request(`${url}/api/v1/house/receipts/stream?from=${from}&follow=${follow}`), countLines()),
  },
  {
    name: "connect-proto",
    open(url, query) {
      const headers = { "content-type": "application/connect+proto", "connect-protocol-version": "1" };
      return overHttp1(http.request(url + rpcPath, { method: "POST", headers }), countFrames(), requestFrame(query));
    },
  },
  { name: "grpc", open: openGrpc },
];

function overHttp1(request: http.ClientRequest, count: OpenStream["count"], body?: Buffer): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.on("response", (response) => {
      if (response.statusCode !== 200) reject(new Error(`a stream is answered ${response.statusCode}`));
      resolve({ body: response, count, close: () => request.destroy() });
    });
    request.end(body);
  });
}

async function openGrpc(url: string, query: Parameters<StreamProtocol["open"]>[1]): Promise<OpenStream> {
  const client = http2.connect(url, query.roomy ? { settings: { initialWindowSize: roomyWindow } } : {});
  await new Promise<void>((resolve, reject) => client.once("connect", () => resolve()).once("error", reject));
  client.on("error", () => {}); // the stream reports it
  if (query.roomy) client.setLocalWindowSize(roomyWindow);
  const headers = { "content-type": "application/grpc+proto", te: "trailers" };
  const stream = client.request({ ":method": "POST", ":path": rpcPath, ...headers });
  stream.on("trailers", (trailers) => {
    const { "grpc-status": status, "grpc-message": message } = trailers;
    if (status !== "0") stream.destroy(new Error(`grpc-status ${status}: ${message}`));
  });
  stream.on("close", () => client.close());
  stream.end(requestFrame(query));
  return { body: stream, count: countFrames(), close: () => client.destroy() };
}

/** The request after its prefix, which is the same in gRPC and Connect: the flag `not compressed` and the length. */
function requestFrame({ from, follow }: { from: number; follow: boolean }): Buffer {
  const message = create(StreamReceiptsRequestSchema, { from: BigInt(from), follow });
  const bytes = toBinary(StreamReceiptsRequestSchema, message);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

function countLines(): OpenStream["count"] {
  const newline = 10;
  let count = 0;
  // A stream that is silent for a moment begins with an empty line.
  let previous = newline;
  return (chunk) => {
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) {
      if ((at === 0 ? previous : chunk[at - 1]) !== newline) count += 1;
    }
    previous = chunk.at(-1) ?? previous;
    return count;
  };
}

/** Counts complete frames. The last frame of a Connect stream says how it ended and is not a message. */
function countFrames(): OpenStream["count"] {
  const endOfStream = 2;
  const prefix = Buffer.alloc(5);
  let inPrefix = 0;
  let left = 0;
  let count = 0;
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (inPrefix < prefix.length) {
        prefix[inPrefix++] = chunk[at++] as number;
        left = prefix.readUInt32BE(1);
      } else {
        const taken = Math.min(left, chunk.length - at);
        at += taken;
        left -= taken;
      }
      if (inPrefix === prefix.length && left === 0) {
        if (prefix[0] !== endOfStream) count += 1;
        inPrefix = 0;
      }
    }
    return count;
  };
}
