import { formatCheckpoint } from "../../../src/tlog/notes/checkpoint.ts";
import { formatVkey } from "../../../src/tlog/notes/key.ts";
import { signNote } from "../../../src/tlog/notes/note.ts";
import { sha256, signerOf, testKey } from "../node-functions.ts";
import { origin, partsOf, sampleKey } from "../sample-log.ts";
import { base64, type LogVectors, replaced, textOf, vectorsOf } from "./vector.ts";

const vkey = formatVkey(sampleKey);
const { root, size } = await partsOf(0);
const text = formatCheckpoint({ origin, size, root });
const signer = signerOf(sampleKey);
const sign = async (text: string) => textOf(await signNote(text, [signer]));
const note = await sign(text);
const line = note.slice(text.length + 1);
const otherKey = await testKey(origin, 8);

const ofVkey = vectorsOf("vkey");
const ofCheckpoint = vectorsOf("checkpoint");

const checkpoint = { origin, size, root: base64(root) };
const good = (description: string, note: string, expected: object = checkpoint) =>
  ofCheckpoint.good(description, { note, vkey }, expected);
const bad = (fault: Parameters<typeof ofCheckpoint.bad>[0], description: string, note: string, key = vkey) =>
  ofCheckpoint.bad(fault, description, { note, vkey: key });

/** A signature line. */
const lineOf = (name: string, bytes: Uint8Array) => `— ${name} ${base64(bytes)}\n`;
const unknown = (byte: number) => lineOf("witness.example", Buffer.alloc(4 + 64, byte));
const ownId = Buffer.from(sampleKey.id, "hex");

/** A vkey with other bytes after its name, and the id that these have. */
const vkeyOf = (name: string, bytes: Uint8Array) => {
  const id = base64(Buffer.from(sha256(Buffer.concat([Buffer.from(`${name}\n`), bytes])).subarray(0, 4)));
  return `${name}+${Buffer.from(id, "base64").toString("hex")}+${base64(bytes)}`;
};
const typed = Buffer.concat([Buffer.of(1), sampleKey.publicKey]);

export async function validNotes(): Promise<LogVectors> {
  const parts = { name: origin, id: sampleKey.id, public_key: base64(sampleKey.publicKey) };
  const beyond = Number.MAX_SAFE_INTEGER;
  const largest = formatCheckpoint({ origin, size: beyond, root });
  return {
    vkey: ofVkey.good("A key of Ed25519.", { vkey }, parts),
    "vkey-of-c2sp": ofVkey.good(
      "The example of C2SP signed-note.",
      { vkey: "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k" },
      { name: "example.com/foo", id: "530d903a", public_key: "6TJ5GubnqECkYWTJBHhkJtXngh3YspoA1hyucq/dTaQ=" },
    ),
    checkpoint: good("One signature.", note),
    "checkpoint-with-unknown-signatures": good(
      "Lines of other keys, before and after.",
      `${text}\n${unknown(1)}${line}${unknown(2)}`,
    ),
    "checkpoint-with-same-name-and-another-id": good(
      "A line that has only the name of the key.",
      `${text}\n${lineOf(origin, Buffer.alloc(68, 1))}${line}`,
    ),
    "checkpoint-with-same-id-and-another-name": good(
      "A line that has only the id of the key.",
      `${text}\n${lineOf("other.example", Buffer.concat([ownId, Buffer.alloc(64)]))}${line}`,
    ),
    "checkpoint-with-16-signatures": good(
      "As many lines as a note may have.",
      `${text}\n${Array.from({ length: 15 }, (_, at) => unknown(at)).join("")}${line}`,
    ),
    "checkpoint-signed-twice": good("The same line twice.", `${text}\n${line}${line}`),
    "checkpoint-with-extension": good("A line more in the text.", await sign(`${text}of a later version\n`)),
    "checkpoint-of-the-largest-size": good("2^53 - 1 entries.", await sign(largest), { ...checkpoint, size: beyond }),
    "checkpoint-of-nothing": good("No entries.", await sign(formatCheckpoint({ origin, size: 0, root })), {
      ...checkpoint,
      size: 0,
    }),
  };
}

export async function invalidNotes(): Promise<LogVectors> {
  const forged = Buffer.from(line.split(" ")[2] as string, "base64");
  forged[20] = (forged[20] as number) ^ 1;
  const badVkey = (description: string, vkey: string) => ofVkey.bad("bad_key", description, { vkey });
  const signed = async (description: string, from: string, to: string) =>
    bad("bad_checkpoint", description, await sign(replaced(text, from, to)));
  const b64 = base64(root);
  return {
    "vkey-with-another-id": badVkey("The id is that of another key.", replaced(vkey, sampleKey.id, otherKey.id)),
    "vkey-with-id-in-capitals": badVkey(
      "Hex has small letters.",
      vkeyOf(origin, typed).replace(/\+[0-9a-f]{8}\+/, (id) => id.toUpperCase()),
    ),
    "vkey-without-name": badVkey("The name is empty.", vkeyOf("", typed)),
    "vkey-with-space-in-name": badVkey("A space.", vkeyOf("stoa.example log", typed)),
    "vkey-with-no-break-space-in-name": badVkey(
      "U+00A0 is a space of Unicode.",
      vkeyOf("stoa.example\u00a0log", typed),
    ),
    "vkey-with-control-in-name": badVkey("U+0001.", vkeyOf("stoa.example\u0001log", typed)),
    "vkey-of-another-type": badVkey(
      "0x04 is the type of cosignatures.",
      vkeyOf(origin, Buffer.concat([Buffer.of(4), sampleKey.publicKey])),
    ),
    "vkey-too-short": badVkey("31 bytes.", vkeyOf(origin, typed.subarray(0, -1))),
    "vkey-too-long": badVkey("33 bytes.", vkeyOf(origin, Buffer.concat([typed, Buffer.of(0)]))),
    "vkey-without-key": badVkey("There is no third part.", `${origin}+${sampleKey.id}`),
    "vkey-with-line-end": badVkey("A line feed follows.", `${vkey}\n`),
    "vkey-of-1025-bytes": badVkey("A key has at most 1,024 bytes.", vkeyOf("a".repeat(1025 - 1 - 8 - 1 - 44), typed)),
    "note-without-empty-line": bad("bad_note", "No empty line before the signature.", `${text}${line}`),
    "note-without-signature": bad("bad_note", "The text and an empty line.", `${text}\n`),
    "note-without-last-line-end": bad("bad_note", "The last line does not end.", note.slice(0, -1)),
    "note-with-hyphen": bad("bad_note", "The line begins with a hyphen.", replaced(note, "—", "-")),
    "note-with-tab": bad("bad_note", "A tab after the name.", replaced(note, `${origin} `, `${origin}\t`)),
    "note-with-carriage-returns": bad("bad_note", "Lines end with CR and LF.", note.replaceAll("\n", "\r\n")),
    "note-with-text-after-it": bad("bad_note", "A line after the signatures.", `${note}more\n`),
    "note-with-empty-line-after-it": bad("bad_note", "An empty line at the end.", `${note}\n`),
    "note-with-17-signatures": bad(
      "bad_note",
      "A note has at most 16.",
      `${text}\n${Array.from({ length: 16 }, (_, at) => unknown(at)).join("")}${line}`,
    ),
    "note-with-unpadded-base64": bad("bad_note", "The padding is missing.", replaced(note, /=\n$/, "\n")),
    "note-with-unused-bits": bad(
      "bad_note",
      "A bit of a signature's last character that is not used is set.",
      looseNote(),
    ),
    "note-with-id-alone": bad("bad_note", "A line without signature.", `${text}\n${line}${lineOf("a", ownId)}`),
    "note-with-plus-in-name": bad(
      "bad_note",
      "A name has no plus.",
      `${text}\n${line}${lineOf("a+b", Buffer.alloc(68))}`,
    ),
    "note-with-two-spaces": bad("bad_note", "Two spaces after the name.", replaced(note, `${origin} `, `${origin}  `)),
    "note-with-control-character": bad("bad_note", "A tab in the text, which is signed.", rawNote(`${text}a\tb\n`)),
    "note-not-utf8": ofCheckpoint.bad("bad_note", "A byte that is no UTF-8, which is signed.", {
      note_base64: base64(rawBytes(Buffer.concat([Buffer.from(text), Buffer.of(0xff, 0x0a)]))),
      vkey,
    }),
    "checkpoint-of-two-lines": bad("bad_checkpoint", "There is no root.", await sign(`${origin}\n${size}\n`)),
    "checkpoint-with-empty-line": bad("bad_checkpoint", "An empty line at its end.", await sign(`${text}\n`)),
    "checkpoint-without-origin": await signed("The first line is empty.", origin, ""),
    "checkpoint-with-zero-before-the-size": await signed("A zero before the size.", `\n${size}`, `\n0${size}`),
    "checkpoint-with-sign": await signed("A plus before the size.", `\n${size}`, `\n+${size}`),
    "checkpoint-of-size-2-to-the-53": await signed("A size is at most 2^53 - 1.", `\n${size}`, "\n9007199254740992"),
    "checkpoint-with-short-root": await signed("The root has 31 bytes.", b64, base64(root.subarray(1))),
    "checkpoint-with-root-in-hex": await signed("The root is in hex.", b64, Buffer.from(root).toString("hex")),
    "checkpoint-of-another-origin": bad(
      "other_origin",
      "Another origin, signed by the key.",
      await sign(formatCheckpoint({ origin: "other.example/log", size, root })),
    ),
    "checkpoint-of-another-key": bad("unsigned", "Another key with the same name.", note, formatVkey(otherKey)),
    "checkpoint-with-bad-signature": bad(
      "bad_signature",
      "One bit of the signature.",
      `${text}\n${lineOf(origin, forged)}`,
    ),
    "checkpoint-with-good-and-bad-signature": bad(
      "bad_signature",
      "Two signatures of the key, one of them bad.",
      `${note}${lineOf(origin, forged)}`,
    ),
    "checkpoint-with-short-signature": bad(
      "bad_signature",
      "The signature has 63 bytes.",
      `${text}\n${lineOf(origin, forged.subarray(0, -1))}`,
    ),
    "checkpoint-with-another-text": bad(
      "bad_signature",
      "The size is not the one that was signed.",
      replaced(note, `\n${size}\n`, `\n${size + 1}\n`),
    ),
    "checkpoint-with-malleable-signature": bad(
      "bad_signature",
      "The order of the group is added to the second half of the signature.",
      malleable(),
    ),
  };
}

/** The bytes of a note that the library would not write. */
function rawBytes(text: Uint8Array): Uint8Array {
  const signature = signer.sign(new Uint8Array(text)) as Uint8Array;
  const last = lineOf(origin, Buffer.concat([ownId, signature]));
  return Buffer.concat([text, Buffer.from(`\n${last}`)]);
}

function rawNote(text: string): string {
  return textOf(rawBytes(Buffer.from(text)));
}

/** 68 bytes in base64 end with one `=`: two bits of the character before it are not used. */
function looseNote(): string {
  return note.replace(/(.)=\n$/, (_, last: string) => `${withUnusedBit(last)}=\n`);
}

function withUnusedBit(last: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return alphabet[alphabet.indexOf(last) + 1] as string;
}

/** The order of the group of Ed25519 (RFC 8032, section 5.1). */
const order = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;

/** The same signature with another S, which verifiers without the check of RFC 8032 would accept. */
function malleable(): string {
  const bytes = Buffer.from(line.split(" ")[2] as string, "base64");
  const s = bytes.subarray(36).reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n) + order;
  for (let at = 0; at < 32; at++) bytes[36 + at] = Number((s >> BigInt(8 * at)) & 255n);
  return `${text}\n${lineOf(origin, bytes)}`;
}
