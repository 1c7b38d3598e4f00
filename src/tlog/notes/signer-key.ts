// The file of a private key, as Go's golang.org/x/mod/sumdb/note writes it.
import { toBase64 } from "../encoding.ts";
import { TlogError } from "../error.ts";
import type { AnySha256 } from "../tree/hashing.ts";
import { isKeyName, keyBytes, keyId, type NoteKey, splitKey, typed } from "./key.ts";

/** A private key of Ed25519 with its public key. */
export interface SignerKey extends NoteKey {
  /** 32 bytes by RFC 8032, which are the private key. */
  seed: Uint8Array;
}

/** What keys are made with. */
interface KeyFunctions {
  sha256: AnySha256;
  /** The public key of a seed. */
  publicKeyOf: (seed: Uint8Array) => Uint8Array | Promise<Uint8Array>;
}

const prefix = "PRIVATE+KEY+";

/** @throws TlogError `bad_key` if the name cannot be that of a key, or the seed has not 32 bytes */
export async function makeSignerKey(name: string, seed: Uint8Array, functions: KeyFunctions): Promise<SignerKey> {
  if (!isKeyName(name) || seed.length !== keyBytes) throw new TlogError("bad_key", "no key has this name or this seed");
  const publicKey = await functions.publicKeyOf(seed);
  return { name, id: await keyId(name, publicKey, functions.sha256), publicKey, seed };
}

/** The line of a key file, without its end: `PRIVATE+KEY+name+id+base64(0x01 | seed)`. */
export function formatSignerKey({ name, id, seed }: SignerKey): string {
  return `${prefix}${name}+${id}+${toBase64(typed(seed))}`;
}

/**
 * @param text one line, with or without its end
 * @throws TlogError `bad_key` unless it is a key of Ed25519 with the right id. The message does not hold the key
 */
export async function parseSignerKey(text: string, functions: KeyFunctions): Promise<SignerKey> {
  if (!text.startsWith(prefix)) throw new TlogError("bad_key", `a private key begins with ${prefix}`);
  const { name, id, key } = splitKey(text.slice(prefix.length).replace(/\n$/, ""));
  const made = await makeSignerKey(name, key, functions);
  if (made.id !== id) throw new TlogError("bad_key", "the id is not that of the key");
  return made;
}
