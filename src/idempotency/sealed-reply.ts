import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/*
 * A reply that holds an API key, encrypted by AES-256-GCM. The key is that of HKDF-SHA-256 (RFC 5869) with the
 * idempotency key as input, for a rotation followed by the API key that made the call; neither is stored. The salt is
 * random. Stored are, one after the other: salt (16 bytes), nonce (12), tag (16), ciphertext.
 */

/** What whoever repeats the call has, and the database has not. */
export interface ReplySecret {
  idempotencyKey: string;
  /** The API key that makes the call; none for a registration. */
  apiKey: string | undefined;
}

const info = "stoa sealed reply v1";
const saltLength = 16;
const nonceLength = 12;
const tagLength = 16;
const headLength = saltLength + nonceLength + tagLength;
/** No sealed reply is shorter, in bytes. */
export const minSealedLength = headLength;

/** @param associated what the reply belongs to: it opens with the same alone */
export function sealReply(secret: ReplySecret, associated: Buffer, reply: Buffer): Buffer {
  const salt = randomBytes(saltLength);
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv("aes-256-gcm", deriveKey(secret, salt), nonce).setAAD(associated);
  const ciphertext = Buffer.concat([cipher.update(reply), cipher.final()]);
  return Buffer.concat([salt, nonce, cipher.getAuthTag(), ciphertext]);
}

/** @returns undefined for another secret than that which it was sealed with */
export function openReply(secret: ReplySecret, associated: Buffer, sealed: Buffer): Buffer | undefined {
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

function deriveKey({ idempotencyKey, apiKey = "" }: ReplySecret, salt: Buffer): Buffer {
  // No key holds a zero byte: the two do not run into each other.
  return Buffer.from(hkdfSync("sha256", `${idempotencyKey}\0${apiKey}`, salt, info, 32));
}
