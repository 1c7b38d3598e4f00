import http2 from "node:http2";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { startVictim } from "./support.ts";

/** A message of field 2 = 1 and then unknown fields of two bytes each. */
function unknownFields(count: number): Buffer {
  return Buffer.concat([Buffer.from([0x10, 0x01]), Buffer.alloc(count * 2, Buffer.from([0x78, 0x00]))]);
}

function enveloped(message: Buffer, compressed: boolean): Buffer {
  const data = compressed ? gzipSync(message, { level: 9 }) : message;
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed ? 1 : 0);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

/** Sends a request on a session, and resolves with the gRPC status or the HTTP status and the body. */
function post(
  session: http2.ClientHttp2Session,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<{ status: number; grpcStatus: string | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    let status = 0;
    let grpcStatus: string | undefined;
    const chunks: Buffer[] = [];
    const take = (fields: Record<string, unknown>) => {
      grpcStatus = (fields["grpc-status"] as string | undefined) ?? grpcStatus;
    };
    stream.on("response", (fields) => {
      status = Number(fields[":status"]);
      take(fields);
    });
    stream.on("trailers", take);
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => resolve({ status, grpcStatus, body: Buffer.concat(chunks).toString("utf8") }));
    stream.end(body);
  });
}

describe("unknown Protobuf fields", () => {
  it("leave no memory in use, over gRPC, gRPC-Web and Connect, compressed or not, on any RPC", async () => {
    const victim = await startVictim();
    const session = http2.connect(victim.url);
    const message = unknownFields(130_000);
    const framings = [
      { type: "application/grpc", streams: true },
      { type: "application/grpc-web", streams: true },
      { type: "application/connect+proto", streams: true },
      { type: "application/proto", streams: false },
    ];
    const paths = [
      "/stoa.v1.LedgerService/StreamReceipts",
      "/stoa.v1.PostService/ListPosts",
      "/grpc.health.v1.Health/Check",
      "/grpc.health.v1.Health/Watch",
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    ];
    await victim.during(async () => {
      for (const compressed of [true, false]) {
        for (const { type, streams } of framings) {
          const encoding = type === "application/proto" ? "content-encoding" : "grpc-encoding";
          const headers = {
            "content-type": type,
            te: "trailers",
            ...(compressed
              ? { [type === "application/connect+proto" ? "connect-content-encoding" : encoding]: "gzip" }
              : {}),
          };
          const body = streams
            ? enveloped(message, compressed)
            : compressed
              ? gzipSync(message, { level: 9 })
              : message;
          for (const path of paths) {
            const calls = Array.from({ length: 5 }, () => post(session, path, headers, body));
            for (const { status, grpcStatus } of await Promise.all(calls)) {
              // The service finally makes an address that continues like this wait.
              if (type === "application/grpc") expect([grpcStatus, path]).toEqual(["8", path]);
              else expect([200, 404, 415, 429]).toContain(status);
            }
          }
        }
      }
    });
    session.close();
  }, 120_000);
});
