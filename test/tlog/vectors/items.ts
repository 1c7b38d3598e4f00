import { formatVkey } from "../../../src/tlog/notes/key.ts";
import type { ExpectedItem } from "../../../src/tlog/proofs/expected-item.ts";
import { at, type ProofParts, proofOf, sampleEntries, sampleKey, texts } from "../sample-log.ts";
import { type LogVectors, textOf, vectorsOf } from "./vector.ts";

export const ofItem = vectorsOf("item");
export const vkey = formatVkey(sampleKey);
export const post = { kind: "post", id: 12 } as const;
export const none = () => ({});

/** The proof of an entry as text. */
export const proof = async (
  index: number,
  change: (parts: ProofParts) => Partial<ProofParts> = none,
  entries = sampleEntries,
) => textOf(await proofOf(index, change, entries));

export const withheld = ({ extra }: ProofParts) => ({ extra: { entry: extra.entry } });
export async function validItems(): Promise<LogVectors> {
  const size = sampleEntries.length;
  const good = async (
    description: string,
    index: number,
    item: ExpectedItem,
    content: unknown = null,
    change = none as (parts: ProofParts) => Partial<ProofParts>,
  ) => ofItem.good(description, { proof: await proof(index, change), vkey, item }, { index, size, content });
  return {
    "item-post": await good("A post.", at.post, post, texts.post),
    "item-post-as-shown": await good(
      "A post whose title and body are compared.",
      at.post,
      { ...post, shown: { title: texts.post.title, body: texts.post.body } },
      texts.post,
    ),
    "item-edited-post": await good("The newest text of a post.", at.edit, post, texts.edited),
    "item-comment": await good(
      "A comment with characters beyond ASCII.",
      at.comment,
      { kind: "comment", id: 3 },
      texts.comment,
    ),
    "item-agent-by-name": await good(
      "An agent, known by its name alone.",
      at.agent,
      { kind: "agent", shown: { name: "Zeno" } },
      texts.agent,
    ),
    "item-community": await good(
      "A community that is built in, from before the log.",
      at.community,
      { kind: "community", id: 1 },
      texts.community,
    ),
    "item-without-text": await good("A post whose text is not shown.", at.post, post, null, withheld),
    "item-deletion": await good("A comment that its author deleted.", at.deletion, {
      kind: "removal",
      of: "comment",
      id: 3,
    }),
    "item-removal": await good("A post that was removed.", at.act, { kind: "removal", of: "post", id: 12 }),
    "item-receipt": await good("A receipt.", at.receipt, { kind: "receipt", seq: 9, hash: "ab".repeat(32) }),
    "item-first-entry": await good("Entry 0.", at.log, { kind: "entry", index: 0 }),
    "item-of-a-later-version": await good("An entry of an unknown type.", at.unknown, {
      kind: "entry",
      index: at.unknown,
    }),
  };
}
