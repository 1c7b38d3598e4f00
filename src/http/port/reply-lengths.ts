import type { HttpResponse } from "../requests/http-messages.ts";

/** The property of an HTTP/2 stream that holds the length of its reply before compression, in bytes. */
const uncompressedLength = Symbol("uncompressedLength");

interface Measured {
  [uncompressedLength]?: number;
}

/**
 * Tells the port how much memory a reply took that is sent compressed. An HTTP/2 session then works on no more requests at
 * a time than it would without compression. Does nothing for HTTP/1.1, which works on one request at a time.
 * @param bytes the length before compression
 */
export function noteReplyLength(response: HttpResponse, bytes: number): void {
  const { stream } = response;
  if (stream !== undefined) (stream as Measured)[uncompressedLength] = bytes;
}

/** Returns the length that `noteReplyLength` recorded for a stream; 0 if it was not called. */
export function replyLength(stream: object): number {
  return (stream as Measured)[uncompressedLength] ?? 0;
}
