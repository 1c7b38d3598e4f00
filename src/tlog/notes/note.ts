// Signed notes by C2SP signed-note v1.0.0: a text, an empty line, and the lines of signatures.
import { fromBase64, fromHex, fromUtf8, toBase64, toHex, toUtf8 } from "../encoding.ts";
import { TlogError } from "../error.ts";
import { isKeyName, type NoteKey } from "./key.ts";

/** The most bytes of a note. 16 signatures of ML-DSA fit in. */
export const maxNoteBytes = 128 * 1024;
/** The most lines of signatures. */
const maxSignatures = 16;

interface NoteSignature {
  /** The name and the id (8 hexadecimal digits) of the key that the note names as its signer. */
  name: string;
  id: string;
  signature: Uint8Array;
}

/** A note. Nothing of it is verified. */
export interface Note {
  /** Ends with a line end. */
  text: string;
  signatures: NoteSignature[];
}

/** Signs with a key, which has a name and an id. */
export interface NoteSigner {
  name: string;
  id: string;
  sign(message: Uint8Array<ArrayBuffer>): Uint8Array | Promise<Uint8Array>;
}

/** Whether a signature of Ed25519 (RFC 8032) is good. It returns false for a bad one, whatever its length. */
export type VerifyEd25519 = (
  publicKey: Uint8Array,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array,
) => boolean | Promise<boolean>;

/** @throws TlogError `bad_note` */
export function parseNote(bytes: Uint8Array): Note {
  if (bytes.length > maxNoteBytes) throw badNote(`it has more than ${maxNoteBytes} bytes`);
  const content = fromUtf8(bytes);
  if (content === undefined) throw badNote("it is not UTF-8");
  if (hasControls(content)) throw badNote("it has a control character");
  // The text may have empty lines. The last one ends it.
  const end = content.lastIndexOf("\n\n");
  if (end === -1) throw badNote("no empty line ends its text");
  const lines = content.slice(end + 2).split("\n");
  if (lines.pop() !== "" || lines.length === 0) throw badNote("it does not end with the line of a signature");
  if (lines.length > maxSignatures) throw badNote(`it has more than ${maxSignatures} signatures`);
  return { text: content.slice(0, end + 1), signatures: lines.map(parseSignature) };
}

function parseSignature(line: string): NoteSignature {
  const [, name, base64] = /^— ([^ ]*) (.*)$/.exec(line) ?? [];
  if (name === undefined || base64 === undefined) throw badNote("a line after its text is not a signature");
  if (!isKeyName(name)) throw badNote("a signature has a name that no key can have");
  const bytes = fromBase64(base64);
  if (bytes === undefined || bytes.length < 5) throw badNote("a signature is not an id and a signature in base64");
  return { name, id: toHex(bytes.subarray(0, 4)), signature: bytes.subarray(4) };
}

/** @throws TlogError `bad_note` for what would not parse */
export function formatNote({ text, signatures }: Note): Uint8Array<ArrayBuffer> {
  const lines = signatures.map(({ name, id, signature }) => {
    const idBytes = fromHex(id, 4);
    if (idBytes === undefined) throw badNote("the id of a key is not 8 hexadecimal digits");
    return `— ${name} ${toBase64(Uint8Array.of(...idBytes, ...signature))}\n`;
  });
  const bytes = toUtf8(`${text}\n${lines.join("")}`);
  const parsed = parseNote(bytes);
  if (parsed.text !== text) throw badNote("its text does not end with a line end, or has half a character");
  return bytes;
}

/** Signs a text, which must end with a line end. @throws TlogError `bad_note` if the text cannot be that of a note */
export async function signNote(text: string, signers: readonly NoteSigner[]): Promise<Uint8Array<ArrayBuffer>> {
  const message = toUtf8(text);
  const signatures: NoteSignature[] = [];
  for (const signer of signers) {
    signatures.push({ name: signer.name, id: signer.id, signature: await signer.sign(message) });
  }
  return formatNote({ text, signatures });
}

/**
 * Checks that one of several keys has signed a note. Each signature with the name and the id of one of these keys must be
 * good. Signatures of other keys are ignored.
 * @returns the first of the keys that has signed
 * @throws TlogError `unsigned`, `bad_signature`
 */
export async function verifyNote(note: Note, keys: readonly NoteKey[], verify: VerifyEd25519): Promise<NoteKey> {
  const message = toUtf8(note.text);
  const signers: NoteKey[] = [];
  for (const key of keys) {
    for (const { name, id, signature } of note.signatures) {
      if (name !== key.name || id !== key.id) continue;
      const isGood = signature.length === 64 && (await verify(key.publicKey, message, signature));
      if (!isGood) throw new TlogError("bad_signature", "a signature of the key is not good");
      signers.push(key);
    }
  }
  if (signers[0] === undefined) throw new TlogError("unsigned", "the note has no signature of the key");
  return signers[0];
}

function hasControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
  return /[\u0000-\u0009\u000b-\u001f]/.test(text);
}

function badNote(why: string): TlogError {
  return new TlogError("bad_note", `the note is malformed: ${why}`);
}
