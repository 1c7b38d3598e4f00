import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

/**
 * Makes the messages of gRPC's failures readable for every client. Connect escapes all that encodeURIComponent does; the
 * protocol asks for it only where a character is not printable ASCII, or the percent sign ("Responses" in PROTOCOL-HTTP2),
 * and grpc-js undoes no more than that: its users would read `title%3A must be …`.
 */
export function respellMessages(response: ServerResponse): void {
  const addTrailers = response.addTrailers.bind(response);
  response.addTrailers = (trailers: OutgoingHttpHeaders) => {
    const message = trailers["grpc-message"];
    if (typeof message === "string") trailers["grpc-message"] = respell(message);
    addTrailers(trailers);
  };
}

/** @param message escaped by encodeURIComponent */
export function respell(message: string): string {
  return decodeURIComponent(message).replace(/[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent);
}
