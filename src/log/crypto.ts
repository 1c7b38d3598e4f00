// SHA-256 and Ed25519 of Node.js, as src/tlog takes them.
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";
import type { NoteSigner } from "../tlog/notes/note.ts";
import type { SignerKey } from "../tlog/notes/signer-key.ts";
import { TreeHasher } from "../tlog/tree/hashing.ts";

/** A binary string is the quickest way to the bytes: Node.js would otherwise allocate a buffer for each hash. */
export const sha256 = (bytes: Uint8Array): Uint8Array => Buffer.from(hash("sha256", bytes, "binary"), "binary");

/** For all who append. It reuses its buffers, which is safe because it hashes synchronously. */
export const treeHasher = new TreeHasher(sha256);

/** The DER of a private and of a public key of Ed25519 before its 32 bytes (RFC 8410). */
const privatePrefix = Buffer.from("302e020100300506032b657004220420", "hex");
const publicPrefix = Buffer.from("302a300506032b6570032100", "hex");

const privateKey = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([privatePrefix, seed]), format: "der", type: "pkcs8" });

export const publicKeyOf = (seed: Uint8Array): Uint8Array =>
  createPublicKey(privateKey(seed)).export({ format: "der", type: "spki" }).subarray(publicPrefix.length);

export const verifyEd25519 = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean => {
  const key = createPublicKey({ key: Buffer.concat([publicPrefix, publicKey]), format: "der", type: "spki" });
  return verify(null, message, key, signature);
};

export const signerOf = ({ name, id, seed }: SignerKey): NoteSigner => {
  const key = privateKey(seed);
  return { name, id, sign: (message) => sign(null, message, key) };
};
