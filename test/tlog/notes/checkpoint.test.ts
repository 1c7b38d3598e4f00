// What the vectors of checkpoints do not say.
import { expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { formatCheckpoint, openCheckpoint, parseCheckpoint } from "../../../src/tlog/notes/checkpoint.ts";
import { signNote } from "../../../src/tlog/notes/note.ts";
import type { SignerKey } from "../../../src/tlog/notes/signer-key.ts";
import { signerOf, testKey, verifyEd25519 } from "../node-functions.ts";

const origin = "stoa.example/log";
const root = new Uint8Array(32).fill(1);
const base64 = toBase64(root);

const key: SignerKey = await testKey(origin);

it("may have further lines, which are signed", async () => {
  const text = `${origin}\n7\n${base64}\nof a later version\n-\n`;
  const opened = await openCheckpoint(await signNote(text, [signerOf(key)]), [key], verifyEd25519);
  expect(opened.checkpoint).toEqual({ origin, size: 7, root, extensions: ["of a later version", "-"] });
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

it.each(["", `${origin}\n`, `${origin}\n7\n`, `${origin}\n7\n?\n`])("is refused as the text %j", (text) => {
  const bad = expect.objectContaining({ name: "TlogError", code: "bad_checkpoint" });
  expect(() => parseCheckpoint(text)).toThrow(bad);
});
