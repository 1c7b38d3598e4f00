import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { badInput, StoaError } from "../../errors.ts";
import { Semaphore } from "../../timing/semaphore.ts";
import { TurnScheduler } from "../../timing/turn-scheduler.ts";
import type { RequestBody } from "./body.ts";
import type { HttpRequest } from "./http-messages.ts";

/** The largest body, in bytes, before and after it is decompressed. */
export const maxBodyBytes = 256 * 1024;
/** The length from which a body is large, in bytes. Parsing and checking the largest one takes some milliseconds. */
const largeLength = 32 * 1024;
/** Nobody waits long to decompress a body, so a caller who leaves keeps its place. */
const neverAborts = new AbortController().signal;

const decoders = new Map<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>([
  ["br", promisify(brotliDecompress)],
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  ["deflate", promisify(inflate)],
  ["zstd", promisify(zstdDecompress)],
]);

/** The request bodies of one server, of all protocols: what is costly about them is done a few at a time. */
export class RequestBodies {
  /** Large bodies are handled one in each turn of the event loop. Many of them can be complete at the same time. */
  readonly #turns = new TurnScheduler(1);
  /** A decoder of Brotli takes 4 MB outside of the heap, however short its input is. */
  readonly #decoders = new Semaphore({ limit: 4, busyMessage: "Too many requests are being decompressed." });

  /**
   * Reads the body of a request, decompressed. Its content type is ignored, because agents send whatever their client sets.
   * @throws StoaError `too_large`, `bad_input` for an unknown or broken encoding; ConnectError `canceled`
   */
  async read(body: RequestBody, { headers }: HttpRequest): Promise<Buffer> {
    if (Number(headers["content-length"]) > maxBodyBytes) throw bodyTooLarge();
    const { bytes, isTooLong } = await body.arrived();
    if (isTooLong) throw bodyTooLarge();
    const encoding = headers["content-encoding"]?.toLowerCase();
    const plain = encoding === undefined || encoding === "identity" ? bytes : await this.#decode(bytes, encoding);
    if (isLargeBody(plain)) await this.turn();
    return plain;
  }

  /** Resolves when the turn of a large body comes. */
  turn(): Promise<void> {
    return this.#turns.turn();
  }

  /** Runs a decompression when fewer than four run. @throws what it throws */
  decompress<T>(work: () => Promise<T>): Promise<T> {
    return this.#decoders.run(neverAborts, work);
  }

  async #decode(bytes: Buffer, encoding: string): Promise<Buffer> {
    const decode = decoders.get(encoding);
    if (decode === undefined) throw wrongEncoding();
    try {
      return await this.decompress(() => decode(bytes, { maxOutputLength: maxBodyBytes }));
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? bodyTooLarge() : wrongEncoding();
    }
  }
}

/** Whether a body, or a message in it, is to be handled when its turn comes. */
export function isLargeBody({ length }: { readonly length: number }): boolean {
  return length >= largeLength;
}

function bodyTooLarge(): StoaError {
  return new StoaError("too_large", "The request body is larger than 256 KiB.");
}

function wrongEncoding(): StoaError {
  return badInput(undefined, "The Content-Encoding of the body is unknown, or the body does not have this encoding.");
}
