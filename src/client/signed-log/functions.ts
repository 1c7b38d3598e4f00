import type { VerifyFunctions } from "../../tlog/proofs/tlog-proof.ts";
import { sha256Bytes } from "../sha256.ts";

/** What logs are verified with, in every runtime. */
export const logFunctions: VerifyFunctions = { sha256: sha256Bytes, verifyEd25519 };

async function verifyEd25519(
  publicKey: Uint8Array,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array,
): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey("raw", Uint8Array.from(publicKey), "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", key, Uint8Array.from(signature), message);
  } catch (error) {
    // These 32 bytes are not a point of the curve, so no signature is theirs.
    if (error instanceof DOMException && error.name === "DataError") return false;
    throw error;
  }
}
