import { hash, timingSafeEqual } from "node:crypto";

/** Creates a comparison with a secret. */
export function createSecretCheck(secret: string): (shown: string) => boolean {
  const find = createSecretLookUp([[secret, true]]);
  return (shown) => find(shown) === true;
}

/**
 * Creates a look-up by a secret. Digests have one length, and each is compared in constant time: replies show nothing.
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
