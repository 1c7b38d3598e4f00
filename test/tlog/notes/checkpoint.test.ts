import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { TlogError } from "../../../src/tlog/error.ts";
import { formatCheckpoint, openCheckpoint, parseCheckpoint } from "../../../src/tlog/notes/checkpoint.ts";
import { signNote } from "../../../src/tlog/notes/note.ts";
import type { SignerKey } from "../../../src/tlog/notes/signer-key.ts";
import { changedText } from "../mutations.ts";
import { signerOf, testKey, verifyEd25519 } from "../node-functions.ts";

const origin = "stoa.example/log";
const root = new Uint8Array(32).fill(1);
const base64 = toBase64(root);
let key: SignerKey;

beforeAll(async () => {
  key = await testKey(origin);
});

it("is read as it was written, at any size", () => {
  for (const size of [0, 1, 255, 2 ** 32, 2 ** 53 - 1]) {
    const text = formatCheckpoint({ origin, size, root });
    expect(text).toBe(`${origin}\n${size}\n${base64}\n`);
    expect(parseCheckpoint(text)).toEqual({ origin, size, root, extensions: [] });
  }
});

it("may have further lines, which are signed", async () => {
  const text = `${origin}\n7\n${base64}\nof a later version\n-\n`;
  const opened = await openCheckpoint(await signNote(text, [signerOf(key)]), [key], verifyEd25519);
  expect(opened.checkpoint).toEqual({ origin, size: 7, root, extensions: ["of a later version", "-"] });
});

it("is refused for each defect alone", () => {
  const bad = [
    "",
    "\n",
    `${origin}\n7\n`,
    `${origin}\n7\n${base64}`,
    `\n7\n${base64}\n`,
    `${origin}\n\n${base64}\n`,
    `${origin}\n7\n${base64}\n\n`,
    `${origin}\n7\n${base64}\n\nmore\n`,
    ...[
      "07",
      "+7",
      "-7",
      "7.0",
      "7e0",
      "0x7",
      " 7",
      "7 ",
      "٧",
      "9007199254740992",
      "18446744073709551616",
      "1".repeat(99),
    ].map((size) => `${origin}\n${size}\n${base64}\n`),
    ...[base64.slice(0, -1), `${base64}=`, toBase64(new Uint8Array(31)), toBase64(new Uint8Array(33)), "AA==", "?"].map(
      (root) => `${origin}\n7\n${root}\n`,
    ),
    // The two unused bits of the last character are not zero.
    `${origin}\n7\n${base64.slice(0, -2)}F=\n`,
  ];
  for (const text of bad)
    expect(() => parseCheckpoint(text), text).toThrow(expect.objectContaining({ code: "bad_checkpoint" }));
});

it("is opened only for its own log and key", async () => {
  const note = await signNote(formatCheckpoint({ origin, size: 7, root }), [signerOf(key)]);
  expect(await openCheckpoint(note, [key], verifyEd25519)).toMatchObject({ checkpoint: { origin, size: 7 }, key });
  const refusal = async (key: SignerKey) =>
    (await openCheckpoint(note, [key], verifyEd25519).catch((error) => error)).code;
  expect(await refusal(await testKey("other.example/log"))).toBe("other_origin");
  expect(await refusal(await testKey(origin, 8))).toBe("unsigned");
  expect(await refusal({ ...(await testKey(origin, 8)), id: key.id })).toBe("bad_signature");
  const foreign = await signNote(formatCheckpoint({ origin: "other.example/log", size: 7, root }), [signerOf(key)]);
  await expect(openCheckpoint(foreign, [key], verifyEd25519)).rejects.toMatchObject({ code: "other_origin" });
});

it("of one of several logs is opened, and says whose it is", async () => {
  const other = await testKey("other.example/log", 8);
  const rotated = await testKey(origin, 8);
  const note = await signNote(formatCheckpoint({ origin, size: 7, root }), [signerOf(key)]);
  const keyOf = async (keys: SignerKey[]) => (await openCheckpoint(note, keys, verifyEd25519)).key;
  expect(await keyOf([other, key])).toBe(key);
  expect(await keyOf([rotated, key, other])).toBe(key);
  await expect(keyOf([])).rejects.toMatchObject({ code: "other_origin" });
  await expect(keyOf([other, rotated])).rejects.toMatchObject({ code: "unsigned" });
  // A signature by a log with another name counts for nothing.
  const foreign = await signNote(formatCheckpoint({ origin, size: 7, root }), [signerOf(other)]);
  await expect(openCheckpoint(foreign, [other, key], verifyEd25519)).rejects.toMatchObject({ code: "unsigned" });
});

it("with any change is refused, or is the same", async () => {
  const good = formatCheckpoint({ origin, size: 7, root });
  const note = Buffer.from(await signNote(good, [signerOf(key)])).toString();
  await fc.assert(
    fc.asyncProperty(changedText(note), async (changed) => {
      try {
        expect(await openCheckpoint(Buffer.from(changed), [key], verifyEd25519)).toMatchObject({
          checkpoint: { origin, size: 7, root },
        });
      } catch (error) {
        expect(error).toBeInstanceOf(TlogError);
      }
    }),
    { numRuns: 1000 },
  );
});
