import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TlogError } from "../../../src/tlog/error.ts";
import { formatVkey, isKeyName, keyId, parseVkey } from "../../../src/tlog/notes/key.ts";
import { formatSignerKey, makeSignerKey, parseSignerKey } from "../../../src/tlog/notes/signer-key.ts";
import { changedText } from "../mutations.ts";
import { functions, sha256, testKey } from "../node-functions.ts";
import { ask } from "../reference.ts";

const name = "stoa.example/log";

async function faultOf(parse: Promise<unknown>): Promise<string | undefined> {
  return parse.then(
    () => undefined,
    (error) => {
      expect(error).toBeInstanceOf(TlogError);
      return error.code;
    },
  );
}

describe("verifier keys", () => {
  it("are those of the example in C2SP signed-note", async () => {
    const vkey = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
    const key = await parseVkey(vkey, sha256);
    expect(key).toMatchObject({ name: "example.com/foo", id: "530d903a" });
    expect(formatVkey(key)).toBe(vkey);
  });

  it("with any change are refused", async () => {
    const vkey = formatVkey(await testKey(name));
    await fc.assert(
      fc.asyncProperty(changedText(vkey), async (changed) => {
        expect(await faultOf(parseVkey(changed, sha256))).toBe("bad_key");
      }),
      { numRuns: 500 },
    );
  });

  it("are refused for each defect alone", async () => {
    const { id, publicKey } = await testKey(name);
    const base64 = Buffer.concat([Buffer.of(1), publicKey]).toString("base64");
    const withKey = async (bytes: Uint8Array) => {
      const id = Buffer.from(sha256(Buffer.concat([Buffer.from(`${name}\n`), bytes]))).toString("hex", 0, 4);
      return `${name}+${id}+${Buffer.from(bytes).toString("base64")}`;
    };
    const bad = {
      "another id": `${name}+00000000+${base64}`,
      "an id in capitals": `${name}+${id.toUpperCase()}+${base64}`,
      "an id of another length": `${name}+${id}0+${base64}`,
      "no name": `+${id}+${base64}`,
      "a name with a space": `a b+${await keyId("a b", publicKey, sha256)}+${base64}`,
      "a name with a no-break space": `a\u00a0b+${await keyId("a\u00a0b", publicKey, sha256)}+${base64}`,
      "an unpadded key": `${name}+${id}+${base64}`.replace(/=+$/, "").slice(0, -1),
      "a line end": `${name}+${id}+${base64}\n`,
      "another type": await withKey(Buffer.concat([Buffer.of(4), publicKey])),
      "a short key": await withKey(Buffer.concat([Buffer.of(1), publicKey.subarray(1)])),
      "a long key": await withKey(Buffer.concat([Buffer.of(1), publicKey, Buffer.of(0)])),
      "the type alone": await withKey(Buffer.of(1)),
      "no key": `${name}+${id}+`,
      "no parts": name,
      "a name of a thousand characters": `${"a".repeat(1000)}+${id}+${base64}`,
    };
    for (const [what, vkey] of Object.entries(bad))
      expect(await faultOf(parseVkey(vkey, sha256)), what).toBe("bad_key");
    expect(await faultOf(parseVkey(await withKey(Buffer.concat([Buffer.of(1), publicKey])), sha256))).toBeUndefined();
  });
});

describe("names of keys", () => {
  it("have no space, plus, control or half of a character", () => {
    for (const good of ["a", "stoa.example/log", "—", "é", "\ufeff", "\u200b", "😀"])
      expect(isKeyName(good), good).toBe(true);
    const bad = [
      "",
      " ",
      "a b",
      "a+b",
      "a\n",
      "a\u0000b",
      "\u0085",
      "\u00a0",
      "\u1680",
      "\u2003",
      "\u2028",
      "\u202f",
      "\u3000",
    ];
    for (const each of [...bad, "\ud83d", "a\udc00"]) expect(isKeyName(each), JSON.stringify(each)).toBe(false);
  });
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
    expect(await faultOf(makeSignerKey("a b", new Uint8Array(32), functions))).toBe("bad_key");
    expect(await faultOf(makeSignerKey("a", new Uint8Array(31), functions))).toBe("bad_key");
  });
});
