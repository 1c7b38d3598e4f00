import { commitment } from "../../../src/tlog/entries/content.ts";
import type { TlogFault } from "../../../src/tlog/error.ts";
import { formatVkey } from "../../../src/tlog/notes/key.ts";
import type { ExpectedItem } from "../../../src/tlog/proofs/expected-item.ts";
import { formatExtra } from "../../../src/tlog/proofs/extra.ts";
import { sha256, testKey } from "../node-functions.ts";
import { at, origin, partsOf, sampleEntries, sampleKey } from "../sample-log.ts";
import { none, ofItem, post, proof, vkey, withheld } from "./items.ts";
import { base64, type LogVectors, replaced, textOf } from "./vector.ts";

const textOfPost = async () => (await partsOf(at.post)).extra.text as { content: string; salt: Uint8Array };

export async function invalidItems(): Promise<LogVectors> {
  const good = await proof(at.post);
  const bad = (fault: TlogFault, description: string, proof: string, item: ExpectedItem = post, key = vkey) =>
    ofItem.bad(fault, description, { proof, vkey: key, item });
  const text = await textOfPost();
  const withText = (change: Partial<typeof text>) =>
    proof(at.post, ({ extra }) => ({ extra: { ...extra, text: { ...text, ...change } } }));
  const extra = textOf(formatExtra((await partsOf(at.post)).extra));
  /** The proof with other extra data. */
  const withExtra = (from: string | RegExp, to: string) =>
    good.replace(/^extra .*$/m, () => `extra ${base64(Buffer.from(replaced(extra, from, to)))}`);
  const hash = /^[^ \n]{43}=$/m;
  const another = sampleEntries[at.receipt] as (typeof sampleEntries)[number];
  const first = sampleEntries[0] as (typeof sampleEntries)[number];
  const malformed = { entry: replaced(sampleEntries[at.deletion]?.entry as string, '"of":"comment",', "") };
  const badContent = JSON.stringify({ agent: 4, body: "", community: 1 });
  const committed = replaced(
    sampleEntries[at.post]?.entry as string,
    /"content":"[^"]*"/,
    `"content":"${commitment(text.salt, badContent, sha256)}"`,
  );
  return {
    "proof-of-version-2": bad("bad_proof", "The first line names another version.", replaced(good, "@v1", "@v2")),
    "proof-without-index": bad("bad_proof", "There is no index.", replaced(good, "index 3\n", "")),
    "proof-with-zero-before-the-index": bad(
      "bad_proof",
      "A zero before the index.",
      replaced(good, "index 3", "index 03"),
    ),
    "proof-with-extra-after-the-index": bad(
      "bad_proof",
      "The lines change places.",
      good.replace(/^(extra .*)\n(index 3)$/m, "$2\n$1"),
    ),
    "proof-with-empty-extra": bad("bad_proof", "The line extra has no data.", good.replace(/^extra .*$/m, "extra ")),
    "proof-with-short-hash": bad("bad_proof", "A hash of 31 bytes.", good.replace(hash, base64(Buffer.alloc(31)))),
    "proof-with-loose-base64": bad(
      "bad_proof",
      "A bit of a hash's last character that is not used is set.",
      good.replace(/U=$/m, "V="),
    ),
    "proof-with-54-hashes": bad(
      "bad_proof",
      "There are at most 53 hashes.",
      replaced(good, "index 3\n", `index 3\n${`${base64(Buffer.alloc(32))}\n`.repeat(50)}`),
    ),
    "proof-without-empty-line": bad("bad_proof", "No empty line at all.", good.replaceAll("\n\n", "\n")),
    "proof-with-carriage-returns": bad("bad_proof", "Lines end with CR and LF.", good.replaceAll("\n", "\r\n")),
    "proof-not-utf8": ofItem.bad("bad_proof", "A byte that is no UTF-8.", {
      proof_base64: base64(Buffer.concat([Buffer.from(good), Buffer.of(0xff)])),
      ...{ vkey, item: post },
    }),
    "item-without-extra": bad("bad_extra", "There is no line extra.", good.replace(/^extra .*\n/m, "")),
    "item-extra-with-white-space": bad("bad_extra", "X has a space.", withExtra(',"salt"', ', "salt"')),
    "item-extra-without-entry": bad("bad_extra", "X has no entry.", withExtra('"entry"', '"entrx"')),
    "item-extra-without-salt": bad(
      "bad_extra",
      "The salt is null, and the content is not.",
      withExtra(/"salt":"[^"]*"/, '"salt":null'),
    ),
    "item-extra-without-content": bad(
      "bad_extra",
      "The content is null, and the salt is not.",
      withExtra(/"content":"(?:[^"\\]|\\.)*"/, '"content":null'),
    ),
    "item-extra-with-short-salt": bad("bad_extra", "The salt has 15 bytes.", withExtra('"salt":"33', '"salt":"')),
    "item-extra-of-a-deletion": bad(
      "bad_extra",
      "A text with an entry that commits to none.",
      await proof(at.deletion, ({ extra }) => ({ extra: { ...extra, text } })),
      { kind: "removal", of: "comment", id: 3 },
    ),
    "item-with-cut-off-checkpoint": bad("bad_note", "The last line of the checkpoint does not end.", good.slice(0, -1)),
    "item-of-another-log": bad(
      "other_origin",
      "The vkey has another name.",
      good,
      post,
      formatVkey(await testKey("other.example/log")),
    ),
    "item-of-another-key": bad(
      "unsigned",
      "The vkey has the same name and another key.",
      good,
      post,
      formatVkey(await testKey(origin, 8)),
    ),
    "item-with-another-checkpoint": bad(
      "bad_signature",
      "The size is not the one that was signed.",
      replaced(good, `\n${origin}\n11\n`, `\n${origin}\n12\n`),
    ),
    "item-at-another-index": bad("not_included", "The index is 2.", replaced(good, "index 3", "index 2")),
    "item-with-another-entry": bad(
      "not_included",
      "The entry is another one.",
      await proof(at.post, ({ extra }) => ({ extra: { ...extra, entry: another.entry } })),
    ),
    "item-without-a-hash": bad(
      "not_included",
      "A hash of the proof is missing.",
      good.replace(new RegExp(`${hash.source}\n`, "m"), ""),
    ),
    "item-in-another-tree": bad(
      "not_included",
      "The signed root is another one.",
      await proof(at.post, ({ root }) => ({ root: root.map((byte) => byte ^ 1) })),
    ),
    "item-with-malformed-entry": bad(
      "bad_entry",
      "The entry lacks a member.",
      await proof(1, none, [first, malformed]),
      { kind: "entry", index: 1 },
    ),
    "item-log-of-another-origin": bad(
      "misplaced_entry",
      "Entry 0 names another origin.",
      await proof(0, none, [{ entry: replaced(first.entry, `"origin":"${origin}"`, '"origin":"other"') }]),
      { kind: "entry", index: 0 },
    ),
    "item-log-of-another-key": bad(
      "misplaced_entry",
      "Entry 0 names another key.",
      await proof(0, none, [{ entry: replaced(first.entry, sampleKey.id, "00000000") }]),
      { kind: "entry", index: 0 },
    ),
    "item-log-at-1": bad("misplaced_entry", "Entry 1 is of type log.", await proof(1, none, [first, first]), {
      kind: "entry",
      index: 1,
    }),
    "item-receipt-at-0": bad("misplaced_entry", "Entry 0 is not of type log.", await proof(0, none, [another]), {
      kind: "receipt",
      seq: 9,
    }),
    "item-with-another-id": bad("other_item", "The proof is of post 12.", good, { kind: "post", id: 13 }),
    "item-of-another-kind": bad("other_item", "The proof is of a post.", good, { kind: "comment", id: 12 }),
    "item-of-another-index": bad("other_item", "The proof is of entry 3.", good, { kind: "entry", index: 4 }),
    "item-text-for-a-removal": bad("other_item", "The proof is of the text.", good, {
      kind: "removal",
      of: "post",
      id: 12,
    }),
    "item-removal-for-a-text": bad("other_item", "The proof is of the removal.", await proof(at.act), post),
    "item-restore-for-a-removal": bad(
      "other_item",
      "The act is restore.",
      await proof(1, none, [
        first,
        { entry: replaced(sampleEntries[at.act]?.entry as string, '"remove"', '"restore"') },
      ]),
      { kind: "removal", of: "post", id: 12 },
    ),
    "item-removal-of-another-kind": bad("other_item", "A comment was deleted.", await proof(at.deletion), {
      kind: "removal",
      of: "post",
      id: 3,
    }),
    "item-receipt-with-another-hash": bad("other_item", "The hash is another one.", await proof(at.receipt), {
      kind: "receipt",
      seq: 9,
      hash: "cd".repeat(32),
    }),
    "item-with-another-text": bad(
      "wrong_content",
      "One word of the text differs.",
      await withText({ content: replaced(text.content, "never", "always") }),
    ),
    "item-with-another-salt": bad(
      "wrong_content",
      "The salt is another one.",
      await withText({ salt: Buffer.alloc(16) }),
    ),
    "item-with-malformed-content": bad(
      "bad_content",
      "The text lacks its title.",
      await proof(1, none, [first, { entry: committed, text: { content: badContent, salt: text.salt } }]),
    ),
    "item-with-text-withheld": bad(
      "content_withheld",
      "The text that must be compared is not shown.",
      await proof(at.post, withheld),
      { ...post, shown: { title: "A race" } },
    ),
    "item-with-another-title": bad("other_content", "The title that was shown is another one.", good, {
      ...post,
      shown: { title: "Another race" },
    }),
    "item-of-another-agent": bad("other_content", "The agent is another one.", good, { ...post, shown: { agent: 5 } }),
  };
}
