// Checks vectors with WebCrypto. A test runs it in a browser.
import { checkVector } from "./check-vector.ts";
import type { LogVector, Outcome } from "./vector.ts";

const sha256 = async (bytes: Uint8Array<ArrayBuffer>) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

const verifyEd25519 = async (publicKey: Uint8Array, message: Uint8Array<ArrayBuffer>, signature: Uint8Array) => {
  const key = await crypto.subtle.importKey("raw", Uint8Array.from(publicKey), "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", key, Uint8Array.from(signature), message);
};

export async function checkAll(vectors: readonly LogVector[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const vector of vectors) outcomes.push(await checkVector(vector, { sha256, verifyEd25519 }));
  return outcomes;
}
