import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { badInput, StoaError } from "../../errors.ts";

const decoders = {
  br: promisify(brotliDecompress),
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  zstd: promisify(zstdDecompress),
};

/** The error for a body that is longer than the service reads. */
export function bodyTooLarge(): StoaError {
  return new StoaError("too_large", "The request body is larger than 256 KiB.");
}

/**
 * Decompresses a request body.
 * @param encoding the value of its Content-Encoding
 * @param maxBytes the largest result
 * @param inTurn runs the decompression when its turn comes
 * @throws StoaError `bad_input` for another encoding; `too_large`
 */
export async function decompressBody(
  body: Buffer,
  encoding: string,
  maxBytes: number,
  inTurn: (work: () => Promise<Buffer>) => Promise<Buffer>,
): Promise<Buffer> {
  if (encoding === "identity") return body;
  if (!isKnown(encoding)) throw wrongEncoding();
  const decode = decoders[encoding];
  try {
    return await inTurn(() => decode(body, { maxOutputLength: maxBytes }));
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
