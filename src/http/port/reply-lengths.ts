import type { ServerResponse } from "node:http";

const lengths = new WeakMap<object, number>();

/**
 * Tells the port how much memory it took to make a reply that is sent compressed, in bytes. An HTTP/2 session then has no
 * more requests worked on at once than it would have without compression.
 */
export function noteReplyLength(response: ServerResponse, bytes: number): void {
  const { stream } = response as { stream?: object };
  if (stream !== undefined) lengths.set(stream, bytes);
}

/** What was told of a stream's reply; 0 if nothing was. */
export function replyLength(stream: object): number {
  return lengths.get(stream) ?? 0;
}
