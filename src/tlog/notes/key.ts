// Names and public keys of those who sign notes, by C2SP signed-note.
import { fromBase64, fromHex, toBase64, toHex, toUtf8 } from "../encoding.ts";
import { TlogError } from "../error.ts";
import type { AnySha256 } from "../tree/hashing.ts";

/** The byte of Ed25519 among the types of signatures. */
const ed25519Type = 1;
/** How many bytes a public key of Ed25519 has, and a seed. */
export const keyBytes = 32;
/** The most bytes of a key's text. */
const maxTextBytes = 1024;

/** A public key and whose it is. A log's key has the name of its origin. */
export interface NoteKey {
  name: string;
  /** 8 lower-case hexadecimal digits. */
  id: string;
  publicKey: Uint8Array;
}

/** Whether a text can be the name of a key: not empty, without Unicode spaces, plus signs, controls and lone surrogates. */
export function isKeyName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused here.
  return name.isWellFormed() && /^[^\p{White_Space}+\u0000-\u001f]+$/u.test(name);
}

/** The key id: the first 4 bytes of SHA-256(name | 0x0A | 0x01 | public key), in hexadecimal. */
export async function keyId(name: string, publicKey: Uint8Array, sha256: AnySha256): Promise<string> {
  const begin = toUtf8(`${name}\n`);
  const input = new Uint8Array(begin.length + 1 + publicKey.length);
  input.set(begin);
  input[begin.length] = ed25519Type;
  input.set(publicKey, begin.length + 1);
  return toHex((await sha256(input)).subarray(0, 4));
}

/** The key as a vkey: `name+id+base64(0x01 | public key)`. */
export function formatVkey({ name, id, publicKey }: NoteKey): string {
  return `${name}+${id}+${toBase64(typed(publicKey))}`;
}

/** @throws TlogError `bad_key` unless it is the vkey of an Ed25519 key, with the right id */
export async function parseVkey(vkey: string, sha256: AnySha256): Promise<NoteKey> {
  const { name, id, key } = splitKey(vkey);
  if ((await keyId(name, key, sha256)) !== id) throw new TlogError("bad_key", "the id is not that of the key");
  return { name, id, publicKey: key };
}

/** Splits the text of a key into its name, its id and its 32 bytes. @throws TlogError `bad_key` */
export function splitKey(text: string): { name: string; id: string; key: Uint8Array } {
  const fail = (message: string) => new TlogError("bad_key", message);
  if (toUtf8(text).length > maxTextBytes) throw fail(`the key has more than ${maxTextBytes} bytes`);
  // Base64 has the plus sign, too.
  const [, name, id, base64] = /^([^+]*)\+([^+]*)\+(.*)$/s.exec(text) ?? [];
  if (name === undefined || id === undefined || base64 === undefined) throw fail("the key is not name+id+base64");
  if (!isKeyName(name))
    throw fail("the name of the key is empty or has a space, a control character or half a character");
  if (fromHex(id, 4) === undefined) throw fail("the id of the key is not 8 hexadecimal digits");
  const key = fromBase64(base64);
  if (key === undefined) throw fail("the key is not in base64");
  if (key[0] !== ed25519Type || key.length !== 1 + keyBytes) throw fail("the key is not of Ed25519");
  return { name, id, key: key.subarray(1) };
}

/** The byte of the type, and then the key. */
export function typed(key: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(ed25519Type, ...key);
}
