import { hash, timingSafeEqual } from "node:crypto";

/** Creates a comparison with a secret. Digests have one length and are compared in constant time: replies show nothing. */
export function createSecretCheck(secret: string): (shown: string) => boolean {
  const expected = digest(secret);
  return (shown) => timingSafeEqual(digest(shown), expected);
}

/**
 * Creates a look-up by a secret, which compares with each of them as above.
 * @param entries secrets that differ, and what is returned for each
 */
export function createSecretLookUp<Value>(entries: readonly (readonly [string, Value])[]) {
  const expected = entries.map(([secret, value]) => [digest(secret), value] as const);
  return (shown: string): Value | undefined => {
    const given = digest(shown);
    return expected.filter(([secret]) => timingSafeEqual(given, secret))[0]?.[1];
  };
}

function digest(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
