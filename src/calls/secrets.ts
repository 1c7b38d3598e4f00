import { hash, timingSafeEqual } from "node:crypto";

/** Creates a comparison with a secret. Digests have one length and are compared in constant time: replies show nothing. */
export function createSecretCheck(secret: string): (shown: string) => boolean {
  const expected = digest(secret);
  return (shown) => timingSafeEqual(digest(shown), expected);
}

function digest(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
