// What the vectors of items do not say.
import { describe, expect, it } from "vitest";
import { TlogError } from "../../../src/tlog/error.ts";
import type { ExpectedItem } from "../../../src/tlog/proofs/expected-item.ts";
import { verifyItem } from "../../../src/tlog/proofs/verify-item.ts";
import { functions, testKey } from "../node-functions.ts";
import { at, origin, type ProofParts, proofOf, sampleEntries, sampleKey, texts } from "../sample-log.ts";

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
  it("of an agent verifies by its id, and one of a recovery as an entry", async () => {
    expect(await verify(await proofOf(at.agent), { kind: "agent", id: 4 })).toMatchObject({ content: texts.agent });
    const verified = await verify(await proofOf(at.recovery), { kind: "entry", index: at.recovery });
    expect(verified).toMatchObject({ index: at.recovery, checkpoint: { origin, size: sampleEntries.length } });
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

  it("is refused for another key with the id of the log's", async () => {
    const key = { ...(await testKey(origin, 8)), id: sampleKey.id };
    const failure = verify(await proofOf(at.post), { kind: "post", id: 12 }, key);
    await expect(failure).rejects.toMatchObject({ code: "bad_signature" });
  });

  it("of an entry of a later version has its text checked, too", async () => {
    const salt = new Uint8Array(16);
    const shown = ({ extra }: ProofParts) => ({ extra: { ...extra, text: { content: "{}", salt } } });
    expect(await refusal(shown, { kind: "entry", index: at.unknown }, at.unknown)).toBe("wrong_content");
  });
});
