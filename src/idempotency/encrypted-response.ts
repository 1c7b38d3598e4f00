import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/*
 * A response that holds an API key is encrypted with AES-256-GCM. HKDF-SHA-256 (RFC 5869) derives the encryption key from the
 * idempotency key, and for a rotation also from the API key that made the call. Neither of them is stored. The salt is
 * random. The stored bytes are the salt (16 bytes), the nonce (12), the tag (16) and the ciphertext.
 */

/** The secret of a client that repeats the call. The database does not have it. */
export interface ResponseSecret {
  idempotencyKey: string;
  /** The API key that makes the call; undefined for a registration. */
  apiKey: string | undefined;
}

const info = "stoa sealed reply v1";
const saltLength = 16;
const nonceLength = 12;
const tagLength = 16;
const headLength = saltLength + nonceLength + tagLength;
/** The least length of an encrypted response, in bytes. */
export const minEncryptedLength = headLength;

/** @param associated what the response belongs to; decryption needs the same value */
export function encryptResponse(secret: ResponseSecret, associated: Buffer, reply: Buffer): Buffer {
  const salt = randomBytes(saltLength);
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv("aes-256-gcm", deriveKey(secret, salt), nonce).setAAD(associated);
  const ciphertext = Buffer.concat([cipher.update(reply), cipher.final()]);
  return Buffer.concat([salt, nonce, cipher.getAuthTag(), ciphertext]);
}

/**
 * @param sealed at least `minEncryptedLength` bytes
 * @returns undefined if the secret or `associated` is another one, or the bytes are damaged
 */
export function decryptResponse(secret: ResponseSecret, associated: Buffer, sealed: Buffer): Buffer | undefined {
  const salt = sealed.subarray(0, saltLength);
  const nonce = sealed.subarray(saltLength, saltLength + nonceLength);
  const tag = sealed.subarray(saltLength + nonceLength, headLength);
  const options = { authTagLength: tagLength };
  const decipher = createDecipheriv("aes-256-gcm", deriveKey(secret, salt), nonce, options);
  decipher.setAAD(associated).setAuthTag(tag);
  const reply = decipher.update(sealed.subarray(headLength));
  try {
    return Buffer.concat([reply, decipher.final()]);
  } catch {
    return undefined;
  }
}

function deriveKey({ idempotencyKey, apiKey = "" }: ResponseSecret, salt: Buffer): Buffer {
  // No key holds a zero byte, so the two keys stay apart.
  return Buffer.from(hkdfSync("sha256", `${idempotencyKey}\0${apiKey}`, salt, info, 32));
}
