// Verifier keys have vectors.
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatVkey, isKeyName } from "../../../src/tlog/notes/key.ts";
import { formatSignerKey, makeSignerKey, parseSignerKey } from "../../../src/tlog/notes/signer-key.ts";
import { changedText } from "../mutations.ts";
import { functions, testKey } from "../node-functions.ts";
import { ask } from "../reference.ts";

const name = "stoa.example/log";

it("names of keys have no space, plus, control or half of a character", () => {
  for (const good of ["stoa.example/log", "—", "\ufeff", "\u200b", "😀"]) expect(isKeyName(good), good).toBe(true);
  for (const bad of ["", "a b", "a+b", "a\n", "a\u0000b", "\u0085", "\u00a0", "\u2003", "\u2028", "\u3000", "\ud83d"])
    expect(isKeyName(bad), JSON.stringify(bad)).toBe(false);
});

describe("private keys", () => {
  it("of Go are read, and lead to the same public key", async () => {
    const { skey, vkey } = await ask<{ skey: string; vkey: string }>("generateKey", { name });
    const key = await parseSignerKey(skey, functions);
    expect(formatVkey(key)).toBe(vkey);
    expect(formatSignerKey(key)).toBe(skey);
    expect(await parseSignerKey(`${skey}\n`, functions)).toEqual(key);
  });

  it("of ours are read by Go", async () => {
    const key = await makeSignerKey(name, randomBytes(32), functions);
    const note = await ask<string>("signNote", { text: "hello\n", skeys: [formatSignerKey(key)] });
    expect(await ask("openNotes", { vkey: formatVkey(key), notes: [note] })).toEqual(["hello\n"]);
  });

  it("with any change are refused, and the message does not show them", async () => {
    const key = await testKey(name, 0xd7);
    const line = formatSignerKey(key);
    const seed = line.slice(line.lastIndexOf("+") + 3, -2);
    await fc.assert(
      fc.asyncProperty(changedText(line), async (changed) => {
        fc.pre(changed !== `${line}\n`);
        const failure = await parseSignerKey(changed, functions).catch((error) => error);
        expect(failure).toMatchObject({ name: "TlogError", code: "bad_key" });
        expect(failure.message).not.toContain(seed.slice(0, 8));
      }),
      { numRuns: 500 },
    );
  });

  it("cannot be made of a name or a seed that no key has", async () => {
    const bad = { name: "TlogError", code: "bad_key" };
    await expect(makeSignerKey("a b", new Uint8Array(32), functions)).rejects.toMatchObject(bad);
    await expect(makeSignerKey("a", new Uint8Array(31), functions)).rejects.toMatchObject(bad);
  });
});
