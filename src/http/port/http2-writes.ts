// Writes to HTTP/2 streams: counted, and in pieces.
import type http2 from "node:http2";
import { Duplex } from "node:stream";
import { portStreamOf, type WriteCallback } from "./http2-stream.ts";

type Stream = http2.ServerHttp2Stream;

/** How much of one stream is passed to nghttp2 at a time, which reports a write only after all of it has been sent. */
export const PIECE_BYTES = 16 * 1024;

/** Writes piece by piece, so that progress is visible after each piece. */
export function writeInPieces(stream: Stream, bytes: Uint8Array, done: WriteCallback | undefined): boolean {
  // With `_writev`, Node would write all waiting pieces at once.
  Object.defineProperty(stream, "_writev", { value: undefined });
  let begin = 0;
  for (; bytes.length - begin > PIECE_BYTES; begin += PIECE_BYTES) {
    writeToStream.call(stream, bytes.subarray(begin, begin + PIECE_BYTES), "buffer" as BufferEncoding);
  }
  return writeToStream.call(stream, bytes.subarray(begin), "buffer" as BufferEncoding, done);
}

type Write = (
  this: Stream,
  chunk: string | Uint8Array,
  encoding?: BufferEncoding | WriteCallback,
  callback?: WriteCallback,
) => boolean;

/** Node's own `write`. */
export const writeToStream = Duplex.prototype.write as Write;

/** The `write` of each stream. It is no closure, for the reason that `destroyInTurn` has. */
export const countedWrite: Write = function (chunk, encoding, callback) {
  const open = portStreamOf(this);
  if (open === undefined) return writeToStream.call(this, chunk, encoding, callback); // it has closed, and Node says so
  const done = typeof callback === "function" ? reportResets(callback) : callback;
  return open.sender.write(open, chunk, encoding as BufferEncoding, done);
};

/** Makes a write that a reset cancels fail like a write to a closed stream. */
function reportResets(callback: WriteCallback): WriteCallback {
  return (error) => {
    callback(error && (error as NodeJS.ErrnoException).code === "ECANCELED" ? streamWasReset(error) : error);
  };
}

/** Connect takes failures with other codes for faults of the server, and prints them. */
export function streamWasReset(cause?: Error): Error {
  return Object.assign(new Error("the stream was reset", { cause }), { code: "ERR_STREAM_DESTROYED" });
}
