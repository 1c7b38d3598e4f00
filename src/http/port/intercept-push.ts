import { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/** Gets what Node pushes to a body, instead of the body. */
export interface PushInterceptor {
  /** @param chunk a part of the body, or null at its end. @returns what `push` would return */
  intercept(chunk: Buffer | null, encoding?: BufferEncoding): boolean;
}

/** The property of an HTTP/2 stream that holds its interceptor. */
const interceptor = Symbol("interceptor");

interface Intercepted extends Readable {
  [interceptor]?: PushInterceptor | undefined;
}

/** An HTTP/1.1 request whose body can be intercepted, without a `push` of its own: V8 would keep each request for longer. */
export class InterceptedRequest extends IncomingMessage {
  interceptor: PushInterceptor | undefined = undefined;

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    return this.interceptor === undefined ? super.push(chunk, encoding) : this.interceptor.intercept(chunk, encoding);
  }
}

/**
 * Intercepts everything that Node pushes to a body from now on.
 * @param by undefined to intercept nothing any longer
 */
export function interceptPush(body: Readable, by: PushInterceptor | undefined): void {
  if (body instanceof InterceptedRequest) {
    body.interceptor = by;
  } else {
    (body as Intercepted)[interceptor] = by;
    body.push = interceptedPush;
  }
}

/** Pushes to a body past its interceptor. */
export function pushTo(body: Readable, chunk: Buffer | null, encoding?: BufferEncoding): boolean {
  return Readable.prototype.push.call(body, chunk, encoding);
}

/** No closure, for the reason that `destroyInTurn` has. */
function interceptedPush(this: Intercepted, chunk: Buffer | null, encoding?: BufferEncoding): boolean {
  const by = this[interceptor];
  return by === undefined ? pushTo(this, chunk, encoding) : by.intercept(chunk, encoding);
}
