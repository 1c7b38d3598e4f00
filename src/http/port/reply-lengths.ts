import type { HttpResponse } from "../requests/http-messages.ts";

/** The lengths of replies before compression, in bytes, by their HTTP/2 streams. */
const uncompressedLengths = new WeakMap<object, number>();

/**
 * Tells the port how much memory a reply took that is sent compressed. An HTTP/2 session then works on no more requests at
 * a time than it would without compression. Does nothing for HTTP/1.1, which works on one request at a time.
 * @param bytes the length before compression
 */
export function noteReplyLength(response: HttpResponse, bytes: number): void {
  const { stream } = response;
  if (stream !== undefined) uncompressedLengths.set(stream, bytes);
}

/** Returns the length that `noteReplyLength` recorded for a stream; 0 if it was not called. */
export function replyLength(stream: object): number {
  return uncompressedLengths.get(stream) ?? 0;
}
