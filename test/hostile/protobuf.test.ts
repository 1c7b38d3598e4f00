import http2 from "node:http2";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { envelope } from "../support/http2-frames.ts";
import { startVictim } from "./support.ts";

/** A message of field 2 = 1 and then unknown fields of two bytes each. */
function unknownFields(count: number): Buffer {
  return Buffer.concat([Buffer.from([0x10, 0x01]), Buffer.alloc(count * 2, Buffer.from([0x78, 0x00]))]);
}

const lists: [type: string, message: Buffer][] = [
  ["application/proto", Buffer.concat([Buffer.from([0x0a, 0xf0, 0xfe, 0x0f]), Buffer.alloc(262_000)])],
  ["application/json", Buffer.from(`{"postIds":[${"0,".repeat(130_000)}0]}`)],
  ["application/json", Buffer.from(`{"postIds":[${"1,".repeat(130_000)}"x"]}`)],
  ["application/json", Buffer.from(`{"commentIds":[${"null,".repeat(50_000)}0]}`)],
];

describe("a list with a hundred thousand entries too many", () => {
  it("is refused for the first of them", { timeout: 120_000 }, async () => {
    const victim = await startVictim();
    await victim.during(async () => {
      for (const [type, message] of lists) {
        for (let count = 0; count < 4; count++) {
          const headers = { authorization: `Bearer ${victim.key}`, "content-type": type, "content-encoding": "gzip" };
          const url = `${victim.url}/stoa.v1.AgentService/GetMyVotes`;
          const { status } = await fetch(url, { method: "POST", headers, body: gzipSync(message) });
          expect([type, [400, 429].includes(status)]).toEqual([type, true]);
        }
      }
    });
  });
});

/** Sends a request on a session, and resolves with the status of HTTP and that of gRPC. */
function post(
  session: http2.ClientHttp2Session,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<{ status: number; grpcStatus: unknown }> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    let heads: http2.IncomingHttpHeaders = {};
    const take = (fields: http2.IncomingHttpHeaders) => {
      heads = { ...heads, ...fields };
    };
    stream.on("response", take).on("trailers", take).on("error", reject).resume();
    stream.on("close", () => resolve({ status: Number(heads[":status"]), grpcStatus: heads["grpc-status"] }));
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
          const sent = compressed ? gzipSync(message, { level: 9 }) : message;
          const body = streams ? envelope(sent, compressed ? 1 : 0) : sent;
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
