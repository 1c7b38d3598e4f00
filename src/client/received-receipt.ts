import type { Json } from "../receipt/canonical.ts";
import { parseJson } from "../receipt/parse.ts";
import type { UntrustedReceipt } from "../receipt/verify.ts";
import { isObject, printable, readErrorShape, StoaError } from "./error.ts";
import { sha256 } from "./sha256.ts";

/** A receipt as a service sends it. Only the types of its members are checked. */
export interface ReceivedReceipt {
  seq: number;
  hash: string;
  prevHash: string;
  /** The canonical text. Its UTF-8 is hashed. */
  canonical: string;
  /** The document that the service shows beside the text; undefined if there is none. */
  document: Json | undefined;
}

/**
 * Parses one line of the stream.
 * @throws StoaError as the line says, if it is an error; `unusable` if it is neither an error nor a receipt
 */
export function parseLine(line: string): ReceivedReceipt {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    throw new StoaError("unusable", `a line of the stream is not JSON: ${printable(line.slice(0, 60))}`);
  }
  const failure = readErrorShape(value);
  if (failure !== undefined) throw failure;
  return toReceivedReceipt(value);
}

/** @throws StoaError `unusable` */
export function toReceivedReceipt(value: unknown): ReceivedReceipt {
  if (!isObject(value)) throw malformed("it is not an object");
  const { seq, hash, prev_hash: prevHash, canonical, document } = value;
  if (!Number.isSafeInteger(seq)) throw malformed("seq is missing or not an integer up to 2^53-1");
  if (typeof hash !== "string") throw malformed("hash is missing or not a string");
  if (typeof prevHash !== "string") throw malformed("prev_hash is missing or not a string");
  if (typeof canonical !== "string") throw malformed("canonical is missing or not a string");
  return { seq: seq as number, hash, prevHash, canonical, document: document as Json | undefined };
}

function malformed(message: string): StoaError {
  return new StoaError("unusable", `this is not a receipt: ${message}`);
}

const utf8 = new TextEncoder();

/** The receipt as the rules take it, with the hash that is recomputed from the bytes. */
export async function withComputedHash({
  seq,
  hash: recorded,
  prevHash,
  canonical,
}: ReceivedReceipt): Promise<UntrustedReceipt> {
  const bytes = utf8.encode(canonical);
  return { bytes, computedHash: await sha256(bytes), seq, hash: recorded, prevHash };
}
