import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TlogError } from "../../../src/tlog/error.ts";
import type { ExpectedItem } from "../../../src/tlog/proofs/expected-item.ts";
import { formatExtra } from "../../../src/tlog/proofs/extra.ts";
import { formatProof } from "../../../src/tlog/proofs/tlog-proof.ts";
import { verifyItem } from "../../../src/tlog/proofs/verify-item.ts";
import { changedBytes, changedText } from "../mutations.ts";
import { functions, testKey } from "../node-functions.ts";
import {
  at,
  checkpointOf,
  origin,
  type ProofParts,
  partsOf,
  proofOf,
  sampleEntries,
  sampleKey,
  texts,
} from "../sample-log.ts";

const verify = (proof: Uint8Array, item: ExpectedItem, key = sampleKey) => verifyItem(proof, item, [key], functions);

/** The code with which a proof of the post is refused. */
async function refusal(
  change: (parts: ProofParts) => Partial<ProofParts>,
  item: ExpectedItem = { kind: "post", id: 12 },
  index = at.post,
): Promise<string> {
  const failure = await verify(await proofOf(index, change), item).catch((error) => error);
  expect(failure).toBeInstanceOf(TlogError);
  return failure.code;
}

const none = () => ({});

describe("a proof of an item", () => {
  it("of each kind verifies, with its text", async () => {
    const items: [index: number, ExpectedItem, content?: unknown][] = [
      [at.log, { kind: "entry", index: 0 }],
      [at.community, { kind: "community", shown: { name: "general" } }, texts.community],
      [at.agent, { kind: "agent", shown: { name: "Zeno" } }, texts.agent],
      [at.agent, { kind: "agent", id: 4 }, texts.agent],
      [at.post, { kind: "post", id: 12, shown: { title: "A race", body: texts.post.body } }, texts.post],
      [at.comment, { kind: "comment", id: 3, shown: { body: texts.comment.body } }, texts.comment],
      [at.edit, { kind: "post", id: 12, shown: { title: "A race, decided" } }, texts.edited],
      [at.deletion, { kind: "removal", of: "comment", id: 3 }],
      [at.act, { kind: "removal", of: "post", id: 12 }],
      [at.receipt, { kind: "receipt", seq: 9, hash: "ab".repeat(32) }],
      [at.receipt, { kind: "receipt", seq: 9 }],
      [at.recovery, { kind: "entry", index: at.recovery }],
      [at.unknown, { kind: "entry", index: at.unknown }],
    ];
    for (const [index, item, content] of items) {
      const verified = await verify(await proofOf(index), item);
      expect(verified).toMatchObject({ index, checkpoint: { origin, size: sampleEntries.length } });
      expect(verified.content, JSON.stringify(item)).toEqual(content);
    }
  });

  it("may withhold the text, unless it must be compared", async () => {
    const withheld = ({ extra }: ProofParts) => ({ extra: { entry: extra.entry } });
    const verified = await verify(await proofOf(at.post, withheld), { kind: "post", id: 12 });
    expect(verified).toMatchObject({ entry: { type: "post", id: 12 }, content: undefined });
    expect(await refusal(withheld, { kind: "post", id: 12, shown: { title: "A race" } })).toBe("content_withheld");
  });

  it("is refused if it is of another item", async () => {
    const others: [number, ExpectedItem][] = [
      [at.post, { kind: "post", id: 13 }],
      [at.post, { kind: "comment", id: 12 }],
      [at.post, { kind: "removal", of: "post", id: 12 }],
      [at.post, { kind: "entry", index: at.comment }],
      [at.post, { kind: "receipt", seq: 12 }],
      [at.edit, { kind: "comment", id: 12 }],
      [at.edit, { kind: "post", id: 13 }],
      [at.deletion, { kind: "comment", id: 3 }],
      [at.deletion, { kind: "removal", of: "post", id: 3 }],
      [at.deletion, { kind: "removal", of: "comment", id: 4 }],
      [at.act, { kind: "post", id: 12 }],
      [at.act, { kind: "removal", of: "comment", id: 12 }],
      [at.act, { kind: "removal", of: "post", id: 5 }],
      [at.receipt, { kind: "receipt", seq: 8 }],
      [at.receipt, { kind: "receipt", seq: 9, hash: "cd".repeat(32) }],
      [at.recovery, { kind: "post", id: 6 }],
      [at.unknown, { kind: "agent", id: 4 }],
    ];
    for (const [index, item] of others)
      expect(await refusal(none, item, index), JSON.stringify(item)).toBe("other_item");
    const locked = `{"act":"lock","id":6,"item":"post","item_id":12,"reason":null,"role":"operator","ts":"2026-01-31T00:00:04.120Z","type":"act","v":1}`;
    const entries = [...sampleEntries, { entry: locked }];
    const proof = await proofOf(entries.length - 1, none, entries);
    await expect(verify(proof, { kind: "removal", of: "post", id: 12 })).rejects.toMatchObject({ code: "other_item" });
  });

  it("is refused if the text is not the one that was committed to", async () => {
    const text = (await partsOf(at.post)).extra.text as { content: string; salt: Uint8Array };
    const withText = (change: Partial<typeof text>) =>
      refusal(({ extra }) => ({ extra: { ...extra, text: { ...text, ...change } } }));
    expect(await withText({ content: text.content.replace("never", "always") })).toBe("wrong_content");
    expect(await withText({ content: `${text.content} ` })).toBe("wrong_content");
    expect(await withText({ salt: new Uint8Array(16) })).toBe("wrong_content");
    expect(await refusal(none, { kind: "post", id: 12, shown: { title: "Another race" } })).toBe("other_content");
    expect(await refusal(none, { kind: "post", id: 12, shown: { agent: 5 } })).toBe("other_content");
    const onDeletion = ({ extra }: ProofParts) => ({ extra: { ...extra, text } });
    expect(await refusal(onDeletion, { kind: "removal", of: "comment", id: 3 }, at.deletion)).toBe("bad_extra");
  });

  it("is refused if it does not lead to a tree that the log has signed", async () => {
    expect(await refusal(({ root }) => ({ root: root.map((byte) => byte ^ 1) }))).toBe("not_included");
    expect(await refusal(({ hashes }) => ({ hashes: hashes.slice(1) }))).toBe("not_included");
    expect(await refusal(() => ({ index: at.comment }))).toBe("not_included");
    const proof = await proofOf(at.post);
    const code = async (key: typeof sampleKey) =>
      (await verify(proof, { kind: "post", id: 12 }, key).catch((e) => e)).code;
    expect(await code(await testKey("other.example/log"))).toBe("other_origin");
    expect(await code(await testKey(origin, 8))).toBe("unsigned");
    expect(await code({ ...(await testKey(origin, 8)), id: sampleKey.id })).toBe("bad_signature");
    const cut = Buffer.from(proof).subarray(0, -1);
    await expect(verify(cut, { kind: "post", id: 12 })).rejects.toMatchObject({ code: "bad_note" });
  });

  it("is refused if its first entry names another log, or stands elsewhere", async () => {
    const code = async (index: number, entries: { entry: string }[]) => {
      const failure = await verify(await proofOf(index, none, entries), { kind: "entry", index }).catch(
        (error) => error,
      );
      return failure.code;
    };
    const first = sampleEntries[0]?.entry as string;
    expect(await code(0, [{ entry: first.replace(`"${origin}"`, `"${origin}s"`) }])).toBe("misplaced_entry");
    expect(await code(0, [{ entry: first.replace(sampleKey.id, "00000000") }])).toBe("misplaced_entry");
    expect(await code(1, [{ entry: first }, { entry: first }])).toBe("misplaced_entry");
    expect(await code(0, [{ entry: sampleEntries[at.receipt]?.entry as string }])).toBe("misplaced_entry");
  });

  it("of an entry of a later version has its text checked, too", async () => {
    const salt = new Uint8Array(16);
    const shown = ({ extra }: ProofParts) => ({ extra: { ...extra, text: { content: "{}", salt } } });
    expect(await refusal(shown, { kind: "entry", index: at.unknown }, at.unknown)).toBe("wrong_content");
  });

  it("is refused if what it shows is malformed", async () => {
    const extra = async (text: string | undefined) => {
      const parts = await partsOf(at.post);
      const bytes = text === undefined ? undefined : Buffer.from(text);
      const proof = formatProof({ ...parts, extra: bytes, checkpoint: await checkpointOf(parts) });
      return verify(proof, { kind: "post", id: 12 }).then(
        () => "good",
        (error) => error.code,
      );
    };
    const good = Buffer.from(formatExtra((await partsOf(at.post)).extra)).toString();
    expect(await extra(good)).toBe("good");
    expect(await extra(good.replace(/\}$/, ',"z":[]}'))).toBe("good");
    const salt = "33".repeat(16);
    const bad = [
      undefined,
      "[]",
      "x",
      good.replace(',"entry"', ', "entry"'),
      good.replace(/"entry":/, '"entries":'),
      good.replace(salt, salt.slice(2)),
      good.replace(salt, salt.replace("3", "A")),
      good.replace(`"${salt}"`, "null"),
      good.replace(/"content":"(?:[^"\\]|\\.)*"/, '"content":null'),
      good.replace(/"content":"(?:[^"\\]|\\.)*",/, ""),
      good.replace(/"entry":"(?:[^"\\]|\\.)*"/, '"entry":7'),
    ];
    for (const text of bad) {
      expect(text).not.toBe(good);
      expect(await extra(text), text).toBe("bad_extra");
    }
  });

  it("of bytes that are no entry is refused", async () => {
    const entries = [...sampleEntries.slice(0, 3), { entry: '{"id":12,"type":"post"}' }];
    const proof = await proofOf(3, none, entries);
    await expect(verify(proof, { kind: "post", id: 12 })).rejects.toMatchObject({ code: "bad_entry" });
  });

  it("with any change is refused, or proves the same text", async () => {
    const item: ExpectedItem = { kind: "post", id: 12 };
    const proof = await proofOf(at.post);
    const text = Buffer.from(proof).toString();
    const changed = fc.oneof(
      changedText(text).map((text) => Buffer.from(text)),
      changedBytes(proof),
    );
    await fc.assert(
      fc.asyncProperty(changed, async (bytes) => {
        try {
          const verified = await verify(bytes, item);
          expect([verified.index, verified.content]).toEqual([at.post, texts.post]);
        } catch (error) {
          expect(error).toBeInstanceOf(TlogError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("whose extra data has any change is refused, or proves the same text, or none", async () => {
    const parts = await partsOf(at.post);
    const extra = Buffer.from(formatExtra(parts.extra)).toString();
    const checkpoint = await checkpointOf(parts);
    await fc.assert(
      fc.asyncProperty(changedText(extra), async (changed) => {
        const proof = formatProof({ ...parts, extra: Buffer.from(changed), checkpoint });
        try {
          const verified = await verify(proof, { kind: "post", id: 12 });
          expect(verified.content).toEqual(texts.post);
        } catch (error) {
          expect(error).toBeInstanceOf(TlogError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
