import type { FastifyInstance } from "fastify";
import { StoaError } from "../errors.ts";
import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { decompressBody } from "./decompression.ts";

/** The length from which a body is large, in bytes. Parsing and checking the largest one takes some milliseconds. */
const largeLength = 32 * 1024;
/** Large bodies are handled one in each turn of the event loop. Many of them can be complete at the same time. */
const turns = new TurnScheduler(1);
/** How many bytes of large bodies may wait for their turns. They are complete, so nothing else limits them. */
const maxWaitingBytes = 32 * 1024 * 1024;
let waitingBytes = 0;

/**
 * Makes routes read their bodies as bytes, decompressed, and drop them before they reply. Their content type is ignored, because
 * agents send whatever their client sets.
 */
export function readBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>("*", { parseAs: "buffer" }, (request, body, done) => {
    const pass = (bytes: Buffer) => {
      if (isLargeBody(bytes)) runInTurn(bytes, (error) => done(error, bytes));
      else done(null, bytes);
    };
    const encoding = request.raw.headers["content-encoding"];
    if (encoding === undefined) return pass(body);
    const { bodyLimit } = request.routeOptions;
    decompressBody(body, encoding, bodyLimit).then(pass, done);
  });
  // A client that does not read the reply would keep the body in memory.
  app.addHook("onSend", (request, _reply, payload, done) => {
    request.body = undefined;
    done(null, payload);
  });
}

/** Whether a body, or a message in it, is to be handled when its turn comes. */
export function isLargeBody({ length }: { readonly length: number }): boolean {
  return length >= largeLength;
}

/**
 * Resolves when the turn of a large body comes.
 * @throws StoaError `unavailable` when too many bytes wait
 */
export function turnOfBody(body: { readonly length: number }): Promise<void> {
  return new Promise((resolve, reject) => runInTurn(body, (error) => (error === null ? resolve() : reject(error))));
}

function runInTurn({ length }: { readonly length: number }, done: (error: StoaError | null) => void): void {
  if (waitingBytes + length > maxWaitingBytes) {
    done(new StoaError("unavailable", "The service has too many large requests.", { retryAfterSeconds: 1 }));
    return;
  }
  waitingBytes += length;
  turns.run(() => {
    waitingBytes -= length;
    done(null);
  });
}
