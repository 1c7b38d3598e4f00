import type { FastifyInstance } from "fastify";
import { StoaError } from "../errors.ts";
import { Semaphore } from "../timing/semaphore.ts";
import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { decompressBody } from "./decompression.ts";

/** The length from which a body is large, in bytes. Parsing and checking the largest one takes some milliseconds. */
const largeLength = 32 * 1024;
/** How many bytes of large bodies may wait for their turns. They are complete, so nothing else limits them. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Nobody waits long to decompress a body, so a caller who leaves keeps its place. */
const neverAborts = new AbortController().signal;

/** The request bodies of one server, of all protocols: what is costly about them is done a few at a time. */
export class RequestBodies {
  /** Large bodies are handled one in each turn of the event loop. Many of them can be complete at the same time. */
  readonly #turns = new TurnScheduler(1);
  #waitingBytes = 0;
  /** A decoder of Brotli takes 4 MB outside of the heap, however short its input is. */
  readonly #decoders = new Semaphore({ limit: 4, busyMessage: "Too many requests are being decompressed." });

  /**
   * Makes routes read their bodies as bytes, decompressed, and drop them before they reply. Their content type is ignored,
   * because agents send whatever their client sets.
   */
  readAsBytes(app: FastifyInstance): void {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser<Buffer>("*", { parseAs: "buffer" }, (request, body, done) => {
      const pass = (bytes: Buffer) => {
        if (isLargeBody(bytes)) this.#runInTurn(bytes, (error) => done(error, bytes));
        else done(null, bytes);
      };
      const encoding = request.raw.headers["content-encoding"];
      if (encoding === undefined) return pass(body);
      const { bodyLimit } = request.routeOptions;
      decompressBody(body, encoding, bodyLimit, (work) => this.decompress(work)).then(pass, done);
    });
    // A client that does not read the reply would keep the body in memory.
    app.addHook("onSend", (request, _reply, payload, done) => {
      request.body = undefined;
      done(null, payload);
    });
  }

  /**
   * Resolves when the turn of a large body comes.
   * @throws StoaError `unavailable` when too many bytes wait
   */
  turnOf(body: { readonly length: number }): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#runInTurn(body, (error) => (error === null ? resolve() : reject(error))),
    );
  }

  /** Runs a decompression when fewer than four run. @throws what it throws; StoaError `unavailable` when too many wait */
  decompress<T>(work: () => Promise<T>): Promise<T> {
    return this.#decoders.run(neverAborts, work);
  }

  #runInTurn({ length }: { readonly length: number }, done: (error: StoaError | null) => void): void {
    if (this.#waitingBytes + length > maxWaitingBytes) {
      done(new StoaError("unavailable", "The service has too many large requests.", { retryAfterSeconds: 1 }));
      return;
    }
    this.#waitingBytes += length;
    this.#turns.run(() => {
      this.#waitingBytes -= length;
      done(null);
    });
  }
}

/** Whether a body, or a message in it, is to be handled when its turn comes. */
export function isLargeBody({ length }: { readonly length: number }): boolean {
  return length >= largeLength;
}
