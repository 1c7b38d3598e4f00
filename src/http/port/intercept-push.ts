import { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";

/** Receives what Node pushes to a body: a chunk, or null at the end. Returns what `push` would return. */
export type Intercept = (chunk: Buffer | null, encoding?: BufferEncoding) => boolean;

/**
 * An HTTP/1.1 request whose body can be intercepted. Replacing `push` on each request would make V8 keep requests for
 * longer: its young collections took twice the time.
 */
export class InterceptedRequest extends IncomingMessage {
  intercept: Intercept | undefined = undefined;

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    return this.intercept === undefined ? super.push(chunk, encoding) : this.intercept(chunk, encoding);
  }
}

/**
 * Intercepts everything that Node pushes to a body from now on.
 * @param make gets the original `push`, and returns the function to call instead
 */
export function interceptPush(body: Readable, make: (push: Intercept) => Intercept): void {
  if (body instanceof InterceptedRequest) {
    body.intercept = make((chunk, encoding) => IncomingMessage.prototype.push.call(body, chunk, encoding));
  } else {
    const { push } = body;
    body.push = make((chunk, encoding) => push.call(body, chunk, encoding));
  }
}
