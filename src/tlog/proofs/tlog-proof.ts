// Proofs by C2SP tlog-proof v1: some data, an index, an inclusion proof and a checkpoint, for verification offline.
import { fromBase64, fromDecimal, fromUtf8, toBase64, toUtf8 } from "../encoding.ts";
import { TlogError } from "../error.ts";
import { type Checkpoint, openCheckpoint } from "../notes/checkpoint.ts";
import type { NoteKey } from "../notes/key.ts";
import type { VerifyEd25519 } from "../notes/note.ts";
import { type AnySha256, hashBytes, leafInput } from "../tree/hashing.ts";
import { checkInclusion } from "../tree/proofs.ts";

/** A proof. Nothing of it is verified. */
export interface TlogProof {
  /** Data of the application, which nothing authenticates by itself. */
  extra?: Uint8Array | undefined;
  index: number;
  /** From the sibling of the leaf to a child of the root. */
  hashes: Uint8Array[];
  /** The signed note of the checkpoint. */
  checkpoint: Uint8Array;
}

/** What signatures and hashes are checked with. Each may return a promise, as WebCrypto does. */
export interface VerifyFunctions {
  sha256: AnySha256;
  verifyEd25519: VerifyEd25519;
}

const firstLine = "c2sp.org/tlog-proof@v1";
/** The most bytes of the extra data. The longest post, with each of its characters escaped twice, takes some 70 KiB. */
const maxExtraBytes = 256 * 1024;
/** More than the extra data in base64 (342 KiB), a note (128 KiB) and the other lines. */
export const maxProofBytes = 512 * 1024;
/** The most hashes of an inclusion proof: the height of a tree of 2^53-1 entries. */
const maxHashes = 53;

export function formatProof({ extra, index, hashes, checkpoint }: TlogProof): Uint8Array<ArrayBuffer> {
  const lines = [
    firstLine,
    ...(extra === undefined ? [] : [`extra ${toBase64(extra)}`]),
    `index ${index}`,
    ...hashes.map(toBase64),
  ];
  const head = toUtf8(`${lines.join("\n")}\n\n`);
  const bytes = new Uint8Array(head.length + checkpoint.length);
  bytes.set(head);
  bytes.set(checkpoint, head.length);
  return bytes;
}

/** Reads a proof, but not the checkpoint in it. @throws TlogError `bad_proof` */
export function parseProof(bytes: Uint8Array): TlogProof {
  if (bytes.length > maxProofBytes) throw badProof(`it has more than ${maxProofBytes} bytes`);
  const text = fromUtf8(bytes);
  if (text === undefined) throw badProof("it is not UTF-8");
  const end = text.indexOf("\n\n");
  if (end === -1) throw badProof("no empty line precedes its checkpoint");
  const [first, ...lines] = text.slice(0, end).split("\n");
  if (first !== firstLine) throw badProof(`its first line is not ${firstLine}`);
  const extra = lines[0]?.startsWith("extra ") ? parseExtraLine(lines.shift() as string) : undefined;
  const [, decimal] = /^index (.*)$/.exec(lines.shift() ?? "") ?? [];
  const index = fromDecimal(decimal ?? "");
  if (index === undefined) throw badProof("it has no line with its index");
  if (lines.length > maxHashes) throw badProof(`it has more than ${maxHashes} hashes`);
  const hashes = lines.map((line) => {
    const hash = fromBase64(line);
    if (hash?.length !== hashBytes) throw badProof("a line is not a hash in base64");
    return hash;
  });
  return { extra, index, hashes, checkpoint: toUtf8(text.slice(end + 2)) };
}

function parseExtraLine(line: string): Uint8Array {
  const extra = fromBase64(line.slice("extra ".length));
  if (extra === undefined || extra.length === 0) throw badProof("its extra data is not in base64, or empty");
  if (extra.length > maxExtraBytes) throw badProof(`its extra data has more than ${maxExtraBytes} bytes`);
  return extra;
}

/**
 * Checks that one of several logs has signed a tree in which an entry stands.
 * @param entry what stands at the index of the proof
 * @param logs the keys of logs, from a source that is trusted
 * @returns the checkpoint of the log, and its key
 * @throws TlogError `bad_note`, `bad_checkpoint`, `other_origin`, `unsigned`, `bad_signature`, `not_included`; what the
 * functions throw
 */
export async function verifyProof(
  proof: TlogProof,
  entry: Uint8Array,
  logs: readonly NoteKey[],
  { sha256, verifyEd25519 }: VerifyFunctions,
): Promise<{ checkpoint: Checkpoint; key: NoteKey }> {
  const opened = await openCheckpoint(proof.checkpoint, logs, verifyEd25519);
  await checkInclusion(await sha256(leafInput(entry)), proof.index, proof.hashes, opened.checkpoint, sha256);
  return opened;
}

function badProof(why: string): TlogError {
  return new TlogError("bad_proof", `the proof is malformed: ${why}`);
}
