import { createHash, randomBytes } from "node:crypto";

/** The form of an API key: the prefix `stoa`, an underscore, then 43 base64url characters of 32 random bytes. */
export const apiKeyForm = /^stoa_[A-Za-z0-9_-]{43}$/;

/** A new API key. */
export function createApiKey(): string {
  return `stoa_${randomBytes(32).toString("base64url")}`;
}

/** The hash of a key, which is stored instead of it. A key has 256 random bits, so the hash needs no salt. */
export function hashApiKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
