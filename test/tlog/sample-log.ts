// A small log with each type of entry, and proofs of what stands in it.
import { type ContentKind, type Contents, commitment, formatContent } from "../../src/tlog/entries/content.ts";
import type { Entry } from "../../src/tlog/entries/entry.ts";
import { formatEntry } from "../../src/tlog/entries/entry-text.ts";
import { formatCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { signNote } from "../../src/tlog/notes/note.ts";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { formatExtra, type ProofExtra } from "../../src/tlog/proofs/extra.ts";
import { formatProof, type TlogProof } from "../../src/tlog/proofs/tlog-proof.ts";
import { proveInclusion } from "../../src/tlog/tiles/prove.ts";
import { sha256, signerOf, testKey } from "./node-functions.ts";
import { TestLog } from "./test-log.ts";

export const origin = "stoa.example/log";
export const sampleKey: SignerKey = await testKey(origin);

/** An entry with the text that it commits to. */
export interface SampleEntry extends ProofExtra {
  entry: string;
}

let time = Date.UTC(2026, 0, 31);
/** The time of the next row: each comes a second and some milliseconds after the one before. */
const nextTime = () => {
  time += 1_120;
  return new Date(time).toISOString();
};

/** An entry that commits to a text. Its salt is 16 equal bytes. */
function withText<Kind extends ContentKind>(
  kind: Kind,
  values: Contents[Kind],
  entry: (content: string) => Entry,
): SampleEntry {
  const content = formatContent(kind, values);
  saltByte += 0x11;
  const salt = new Uint8Array(16).fill(saltByte);
  return { entry: formatEntry(entry(commitment(salt, content, sha256))), text: { content, salt } };
}
let saltByte = 0;

const alone = (entry: Entry): SampleEntry => ({ entry: formatEntry(entry) });

export const texts = {
  community: { agent: null, description: "Anything.", name: "general", title: "General" },
  agent: { bio: "I walk and talk.", name: "Zeno", resident: null },
  post: { agent: 4, body: "Achilles never catches up.\n", community: 1, title: "A race" },
  comment: { agent: 4, body: "He does — “at infinity” 😀" },
  edited: { agent: 4, body: "Achilles catches up.\n", community: 1, title: "A race, decided" },
} as const;

export const sampleEntries: readonly SampleEntry[] = [
  alone({ type: "log", origin, vkey: formatVkey(sampleKey), ts: nextTime() }),
  withText("community", texts.community, (content) => {
    return { type: "community", id: 1, content, ts: nextTime(), imported: true };
  }),
  withText("agent", texts.agent, (content) => ({ type: "agent", id: 4, content, ts: nextTime() })),
  withText("post", texts.post, (content) => ({ type: "post", id: 12, content, ts: nextTime() })),
  withText("comment", texts.comment, (content) => {
    return { type: "comment", id: 3, post: 12, parent: null, content, ts: nextTime() };
  }),
  withText("post", texts.edited, (content) => ({ type: "edit", of: "post", id: 12, content, ts: nextTime() })),
  alone({ type: "deletion", of: "comment", id: 3, ts: nextTime() }),
  alone({
    ...{ type: "act", id: 5, act: "remove", item: "post", item_id: 12, reason: "spam", role: "moderator" },
    ts: nextTime(),
  }),
  alone({ type: "receipt", seq: 9, hash: "ab".repeat(32), ts: nextTime() }),
  alone({ type: "recovery", from: 6, to: 6, ts: nextTime() }),
  { entry: `{"content":"${"cd".repeat(32)}","id":4,"news":[1],"ts":"2026-01-31T00:01:00.000Z","type":"key","v":1}` },
];

/** Where each kind of entry stands in the log. */
export const at = {
  log: 0,
  community: 1,
  agent: 2,
  post: 3,
  comment: 4,
  edit: 5,
  deletion: 6,
  act: 7,
  receipt: 8,
  recovery: 9,
  unknown: 10,
};

/** What a proof is made of. */
export interface ProofParts extends Omit<TlogProof, "extra" | "checkpoint"> {
  extra: ProofExtra;
  root: Uint8Array;
  size: number;
}

/** The parts of the proof of an entry, in the log of these entries. */
export async function partsOf(index: number, entries = sampleEntries): Promise<ProofParts> {
  const log = new TestLog();
  log.grow(entries.map(({ entry }) => Buffer.from(entry)));
  const tree = await log.open();
  const hashes = await proveInclusion(tree, index);
  return { extra: entries[index] as ProofExtra, index, hashes, root: await tree.root(), size: tree.size };
}

/** The checkpoint of some tree, signed by a key. */
export function checkpointOf(
  { root, size }: Pick<ProofParts, "root" | "size">,
  key = sampleKey,
  named = key.name,
): Promise<Uint8Array> {
  return signNote(formatCheckpoint({ origin: named, size, root }), [signerOf(key)]);
}

/** The proof of an entry; `change` alters its parts before the checkpoint is signed. */
export async function proofOf(
  index: number,
  change: (parts: ProofParts) => Partial<ProofParts> = () => ({}),
  entries = sampleEntries,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts = await partsOf(index, entries);
  const changed = { ...parts, ...change(parts) };
  return formatProof({ ...changed, extra: formatExtra(changed.extra), checkpoint: await checkpointOf(changed) });
}
