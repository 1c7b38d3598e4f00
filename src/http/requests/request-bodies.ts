import { StoaError } from "../../errors.ts";
import { Semaphore } from "../../timing/semaphore.ts";
import { TurnScheduler } from "../../timing/turn-scheduler.ts";
import { bodyTooLarge, decompressBody } from "./decompression.ts";
import type { HttpRequest } from "./http-messages.ts";
import { readBytes } from "./read-body.ts";

/** The length from which a body is large, in bytes. Parsing and checking the largest one takes some milliseconds. */
const largeLength = 32 * 1024;
/** How many bytes of large bodies may wait for their turns. They are complete, so nothing else limits them. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** The largest body, in bytes, before and after it is decompressed. */
export const maxBodyBytes = 256 * 1024;
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
   * Reads the body of a request, decompressed. Its content type is ignored, because agents send whatever their client sets.
   * @returns undefined where there is none
   * @throws StoaError `too_large`, `bad_input` for an unknown or broken encoding, `unavailable` when too many bytes wait;
   * ConnectError `canceled`
   */
  async read(request: HttpRequest): Promise<Buffer | undefined> {
    const { headers } = request;
    const announced = headers["content-length"];
    if ((announced === undefined || announced === "0") && headers["transfer-encoding"] === undefined) return undefined;
    const encoding = headers["content-encoding"];
    let body = await readBytes(request, maxBodyBytes, bodyTooLarge);
    if (encoding !== undefined)
      body = await decompressBody(body, encoding, maxBodyBytes, (work) => this.decompress(work));
    if (isLargeBody(body)) await this.turnOf(body);
    return body;
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
