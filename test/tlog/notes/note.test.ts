// Notes as C2SP signed-note and Go's sumdb/note have them.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { TlogError } from "../../../src/tlog/error.ts";
import { formatVkey, parseVkey } from "../../../src/tlog/notes/key.ts";
import { formatNote, maxNoteBytes, parseNote, signNote, verifyNote } from "../../../src/tlog/notes/note.ts";
import { formatSignerKey, type SignerKey } from "../../../src/tlog/notes/signer-key.ts";
import { changedBytes, changedText } from "../mutations.ts";
import { sha256, signerOf, testKey, verifyEd25519 } from "../node-functions.ts";
import { ask } from "../reference.ts";

const text = "stoa.example/log\n12\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

const key: SignerKey = await testKey("stoa.example/log");
const other: SignerKey = await testKey("witness.example", 9);
const signed: Uint8Array = await signNote(text, [signerOf(key), signerOf(other)]);

/** The text of a note that the key has signed, or why there is none. */
async function open(bytes: Uint8Array): Promise<{ text: string } | { fault: string }> {
  try {
    const note = parseNote(bytes);
    await verifyNote(note, [key], verifyEd25519);
    return { text: note.text };
  } catch (error) {
    expect(error).toBeInstanceOf(TlogError);
    return { fault: (error as TlogError).code };
  }
}

/** Go reads base64 whose unused bits are not zero, too. */
const hasLooseBase64 = (note: string) =>
  note.split("\n").some((line) => {
    const base64 = /^— [^ ]+ (.*)$/.exec(line)?.[1] ?? "";
    return Buffer.from(base64, "base64").toString("base64") !== base64;
  });

const openText = (text: string) => open(Buffer.from(text));
const asText = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe("notes", () => {
  it("of the example in C2SP signed-note verify", async () => {
    const vkey = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
    const line =
      "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=";
    const note = parseNote(Buffer.from(`This is an example message.\n\n${line}\n`));
    expect(note.text).toBe("This is an example message.\n");
    await verifyNote(note, [await parseVkey(vkey, sha256)], verifyEd25519);
  });

  it("of ours are opened by Go, and those of Go by us", async () => {
    const theirs = await ask<string>("signNote", { text, skeys: [key, other].map(formatSignerKey) });
    expect(theirs).toBe(toBase64(signed));
    expect(await ask("openNotes", { vkey: formatVkey(key), notes: [toBase64(signed)] })).toEqual([text]);
    expect(await open(Buffer.from(theirs, "base64"))).toEqual({ text });
  });

  it("with any change are opened only if Go opens them, with the same text", async () => {
    const changed = [
      ...fc.sample(changedText(asText(signed)), { numRuns: 1000, seed: 1 }).map((text) => Buffer.from(text)),
      ...fc.sample(changedBytes(signed), { numRuns: 500, seed: 2 }),
    ];
    const theirs = await ask<(string | null)[]>("openNotes", { vkey: formatVkey(key), notes: changed.map(toBase64) });
    for (const [at, bytes] of changed.entries()) {
      const ours = await open(bytes);
      const note = asText(bytes);
      if ("text" in ours) expect({ note, text: ours.text }).toEqual({ note, text: theirs[at] });
      else if (theirs[at] !== null) expect({ note, isLoose: hasLooseBase64(note) }).toEqual({ note, isLoose: true });
    }
    const sameText = changed.filter((_, at) => theirs[at] === text).length;
    expect(sameText).toBeGreaterThan(100);
  });

  it("may have 16 signatures of 5 kB, and no more lines and bytes", async () => {
    const big = (name: number) => `— ${name} ${toBase64(Buffer.alloc(4 + 4900, name))}\n`;
    const own = asText(await signNote(text, [signerOf(key)])).slice(text.length + 1);
    const lines = (count: number) => Array.from({ length: count }, (_, at) => big(at)).join("");
    expect(await openText(`${text}\n${lines(15)}${own}`)).toEqual({ text });
    expect(await openText(`${text}\n${lines(16)}${own}`)).toEqual({ fault: "bad_note" });
    const long = (bytes: number) => {
      const rest = maxNoteBytes - bytes - Buffer.byteLength(own) - 1;
      return signNote(`${"a".repeat(rest - 1)}\n`, [signerOf(key)]);
    };
    await expect(long(-1)).rejects.toMatchObject({ code: "bad_note" });
    expect((await long(0)).length).toBe(maxNoteBytes);
  });

  it("have any text that ends with a line end, with empty lines", async () => {
    const texts = [
      "\n",
      "\n\n",
      "a\n\nb\n",
      "a\n\n\n",
      "\ufeffa\n",
      "— a b\n",
      "a\n\n— x AAAAAAA=\n",
      "\u0085\u007f\n",
    ];
    for (const each of texts) expect(await open(await signNote(each, [signerOf(key)])), each).toEqual({ text: each });
    for (const bad of ["", "a", "a\n ", "a\r\n", "a\u0000\n", "\ud83d\n"]) {
      await expect(signNote(bad, [signerOf(key)]), bad).rejects.toMatchObject({ code: "bad_note" });
    }
    await expect(signNote("a\n", [])).rejects.toMatchObject({ code: "bad_note" });
  });

  it("cannot be written with names and ids that would not be read", () => {
    const signature = new Uint8Array(64);
    for (const bad of [{ name: "a b" }, { name: "" }, { name: "a\n— b" }, { id: "0" }, { id: "ABCDEF01" }]) {
      const signatures = [{ name: "a", id: "00000000", signature, ...bad }];
      expect(() => formatNote({ text: "a\n", signatures })).toThrow(expect.objectContaining({ code: "bad_note" }));
    }
  });
});
