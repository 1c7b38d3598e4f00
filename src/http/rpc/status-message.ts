/**
 * Makes gRPC error messages readable for every client. Connect escapes with encodeURIComponent. The protocol asks for
 * less: only the percent sign and everything that is not printable ASCII ("Responses" in PROTOCOL-HTTP2). grpc-js decodes
 * only that, so its users would read `title%3A must be …`.
 * @param message escaped by encodeURIComponent, or by this function
 */
export function respell(message: string): string {
  return decodeURIComponent(message).replace(/[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent);
}
