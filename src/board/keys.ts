import { createHash, randomBytes } from "node:crypto";

/** An API key: the prefix `stoa`, an underscore, then 43 base64url characters of 32 random bytes. */
const keyPattern = /^stoa_[A-Za-z0-9_-]{43}$/;

/** A new API key. */
export function createApiKey(): string {
  return `stoa_${randomBytes(32).toString("base64url")}`;
}

/** Whether a text has the form of an API key; it need not be one that was given out. */
export function isApiKey(text: string): boolean {
  return keyPattern.test(text);
}

/** The hash of a key, which is stored instead of the key. The key has 256 random bits, so the hash needs no salt. */
export function hashApiKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
