import type { IncomingMessage } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import type { HttpRequest } from "./http-messages.ts";

/** What the reader of a body does with it. What it throws ends the reading. */
export interface BodyReader<Result> {
  /** @returns a promise if no more may be read until it is settled */
  take(chunk: Buffer): Promise<void> | undefined;
  /** To be called when the body is complete. @returns what was read */
  end(): Result;
}

/**
 * Reads the body of a request. The rest of a body is dropped if its reader throws.
 * @throws what the reader throws; ConnectError `canceled` if the client goes away before the body is complete
 */
export function readBody<Result>(request: HttpRequest, reader: BodyReader<Result>): Promise<Result> {
  const body = request as IncomingMessage;
  return new Promise((resolve, reject) => {
    let isWaiting = false;
    let hasEnded = false;
    // Node keeps streams for a while. They must not keep what has listened to them.
    const leave = () => body.off("data", onData).off("end", onEnd).off("close", onClose);
    const fail = (error: unknown) => {
      // Drops what still comes, so that the connection can be used again.
      leave().resume();
      reject(error);
    };
    const attempt = (work: () => void) => {
      try {
        work();
      } catch (error) {
        fail(error);
      }
    };
    const finish = () =>
      attempt(() => {
        // Over HTTP/2, the body of a request that the client has reset ends, too.
        if (body.aborted) throw disconnected();
        const result = reader.end();
        leave();
        resolve(result);
      });
    const onData = (chunk: Buffer) =>
      attempt(() => {
        const pause = reader.take(chunk);
        if (pause !== undefined) wait(pause);
      });
    const wait = (pause: Promise<void>) => {
      isWaiting = true;
      body.pause();
      pause.then(() => {
        isWaiting = false;
        if (hasEnded) finish();
        else if (body.listenerCount("data") > 0) body.resume();
      }, fail);
    };
    const onEnd = () => {
      hasEnded = true;
      if (!isWaiting) finish();
    };
    const onClose = () => {
      if (!hasEnded) fail(disconnected());
    };
    // Events that were fired before are not repeated. An empty body may have ended while the caller was looked up.
    if (body.readableEnded) onEnd();
    else if (body.destroyed) onClose();
    else body.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

function disconnected(): ConnectError {
  return new ConnectError("the client disconnected", Code.Canceled);
}

/**
 * The bytes of a whole body.
 * @param tooLarge makes the error for more than `maxBytes`. It gets the size if Content-Length says it
 * @throws what `tooLarge` makes; ConnectError `canceled` if the client goes away before the body is complete
 */
export function readBytes(request: HttpRequest, maxBytes: number, tooLarge: (size?: number) => Error): Promise<Buffer> {
  const announced = Number(request.headers["content-length"]);
  if (announced > maxBytes) return Promise.reject(tooLarge(announced));
  const chunks: Buffer[] = [];
  let length = 0;
  return readBody(request, {
    take(chunk) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge();
      chunks.push(chunk);
      return undefined;
    },
    end: () => (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)),
  });
}
