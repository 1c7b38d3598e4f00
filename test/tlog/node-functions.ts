// SHA-256 and Ed25519 of Node.js, as src/tlog takes them.
import { treeHasher as hasher, publicKeyOf, sha256, signerOf, verifyEd25519 } from "../../src/log/crypto.ts";
import { makeSignerKey, type SignerKey } from "../../src/tlog/notes/signer-key.ts";

export { hasher, publicKeyOf, sha256, signerOf, verifyEd25519 };

export const functions = { sha256, publicKeyOf, verifyEd25519, hasher };

/** A key whose seed is 32 equal bytes. */
export const testKey = (name: string, byte = 7): Promise<SignerKey> =>
  makeSignerKey(name, new Uint8Array(32).fill(byte), functions);
