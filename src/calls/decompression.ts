import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { badInput, StoaError } from "../errors.ts";
import { Semaphore } from "../timing/semaphore.ts";

const decoders = {
  br: promisify(brotliDecompress),
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  zstd: promisify(zstdDecompress),
};

/** A decoder of Brotli takes 4 MB outside of the heap, however short its input is. */
const places = new Semaphore({ limit: 4, busyMessage: "Too many requests are being decompressed." });
/** Nobody waits long for a place, so a caller who leaves keeps it. */
const neverAborts = new AbortController().signal;

/** Runs a decompression. A few run at a time in this process. */
export function decompressInTurn<T>(decompress: () => Promise<T>): Promise<T> {
  return places.run(neverAborts, decompress);
}

/** The error for a body that is longer than the service reads. */
export function bodyTooLarge(): StoaError {
  return new StoaError("too_large", "The request body is larger than 256 KiB.");
}

/**
 * Decompresses a request body.
 * @param encoding the value of its Content-Encoding
 * @param maxBytes the largest result
 * @throws StoaError `bad_input` for another encoding; `too_large`
 */
export async function decompressBody(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  if (encoding === "identity") return body;
  if (!isKnown(encoding)) throw wrongEncoding();
  const decode = decoders[encoding];
  try {
    return await decompressInTurn(() => decode(body, { maxOutputLength: maxBytes }));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? bodyTooLarge() : wrongEncoding();
  }
}

function isKnown(encoding: string): encoding is keyof typeof decoders {
  return Object.hasOwn(decoders, encoding);
}

function wrongEncoding(): StoaError {
  return badInput(undefined, "The Content-Encoding of the body is unknown, or the body does not have this encoding.");
}
