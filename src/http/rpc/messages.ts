import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { withDetail } from "../../calls/error-mapping.ts";
import { nameFaults } from "../../contract/json-faults.ts";
import { maxBinarySize } from "../../contract/message-limits.ts";
import { badInput, type ErrorCode, StoaError } from "../../errors.ts";
import { compress } from "../replies/compression.ts";
import { maxBodyBytes, type RequestBodies } from "../requests/bodies.ts";
import { type Compression, createMethodSerializationLookup } from "./connect-protocol.ts";

export interface MessageOptions {
  compressions: Compression[];
  bodies: RequestBodies;
}

/** Reads and writes the messages of an RPC, in both formats. */
export interface Messages extends Readonly<MessageOptions> {
  readonly rpc: DescMethod;
  /** The largest request message, in bytes. */
  readonly readMaxBytes: number;
  readonly serialization: ReturnType<typeof createMethodSerializationLookup>;
}

/** Unknown fields are not kept: a field of two bytes would become several objects that nobody reads. */
export const binaryOptions = { readUnknownFields: false };

/** The messages of an RPC. In JSON a request may be as large as any body; binary requests have limits of their own. */
export function createMessages(rpc: DescMethod, options: MessageOptions): { json: Messages; binary: Messages } {
  const withLimit = (readMaxBytes: number): Messages => {
    const limits = { readMaxBytes, writeMaxBytes: 0xffff_ffff };
    const lookup = createMethodSerializationLookup(rpc, binaryOptions, undefined, limits);
    return { ...options, rpc, readMaxBytes, serialization: nameFaults(rpc.input, lookup) };
  };
  return { json: withLimit(maxBodyBytes), binary: withLimit(maxBinarySize(rpc.input, maxBodyBytes)) };
}

/** With Connect's own settings, Brotli takes seconds for a large reply. */
const algorithms: Compression[] = [
  compressionGzip,
  { ...compressionBrotli, compress: async (bytes) => new Uint8Array(await compress.br(bytes)) },
];

/** The compressions of RPCs. Few requests are decompressed at a time. */
export function createCompressions(bodies: RequestBodies): Compression[] {
  return algorithms.map((compression) => ({
    ...compression,
    decompress: (bytes, maxBytes) => bodies.decompress(() => compression.decompress(bytes, maxBytes)),
  }));
}

/**
 * A failure as its caller is told of it. What Connect refuses because it cannot read a request gets a detail with our code, as
 * every other failure has. Connect reports what cannot be decoded as `internal`, but the caller is to blame.
 */
export function toldOf(error: ConnectError, { input }: DescMethod): ConnectError {
  const { code, cause, rawMessage } = error;
  if (cause instanceof StoaError) return error;
  if (code === Code.Internal && /^(?:parse binary: |decompression failed)/.test(rawMessage)) {
    return withDetail(error, badInput(undefined, `The message is not a ${input.typeName}.`));
  }
  const known = codeOfRefusal(code, rawMessage);
  if (known === undefined) return error;
  const field = /^cannot decode field [\w.]+\.(\w+) from JSON/.exec(rawMessage)?.[1];
  const limit = /readMaxBytes (\d+)/.exec(rawMessage)?.[1];
  // It may quote half a character, which gRPC could not encode, and a name of any length, which trailers could not hold.
  const quoting = rawMessage.slice(0, 500).toWellFormed();
  const message = limit ? `The message is too large: it may have ${limit} bytes.` : quoting;
  return withDetail(error, new StoaError(known, message, { field }), code);
}

/** Our code for a refusal of Connect's; undefined for other failures. */
function codeOfRefusal(code: Code, message: string): ErrorCode | undefined {
  if (code === Code.ResourceExhausted) return "too_large";
  if (code === Code.InvalidArgument) return message.startsWith("cannot decode message ") ? "bad_json" : "bad_input";
  // An unknown compression, too few or too many messages, or a message that is compressed in no way that was named.
  return code === Code.Unimplemented || message.startsWith("received compressed envelope") ? "bad_input" : undefined;
}
