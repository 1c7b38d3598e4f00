import { proveInclusion } from "../../../src/tlog/tiles/prove.ts";
import { proveConsistency } from "../consistency.ts";
import { hasher } from "../node-functions.ts";
import { TestLog, testEntries, testEntry } from "../test-log.ts";
import { base64, type LogVectors, textOf, vectorsOf } from "./vector.ts";

const size = 11;
const log = new TestLog(size);
const tree = await log.open();
const rootAt = async (size: number) => base64(await tree.root(size));
const root = await rootAt(size);
const entry = (index: number) => `entry ${index}`;

async function inclusionOf(index: number, size: number) {
  const proof = (await proveInclusion(tree, index, size)).map(base64);
  return { entry: entry(index), index, size, root: await rootAt(size), proof };
}

async function consistencyOf(older: number, newer: number) {
  const proof = (await proveConsistency(tree, older, newer)).map(base64);
  return {
    older: { size: older, root: await rootAt(older) },
    newer: { size: newer, root: await rootAt(newer) },
    proof,
  };
}

const flip = (hash: string) => base64(Buffer.from(hash, "base64").map((byte, at) => (at === 5 ? byte ^ 0x10 : byte)));

const ofRoot = vectorsOf("root");
const ofInclusion = vectorsOf("inclusion");
const ofConsistency = vectorsOf("consistency");

export async function validTrees(): Promise<LogVectors> {
  const empty = base64(await new TestLog().range.root());
  const roots: LogVectors = {
    "root-of-nothing": ofRoot.good("No entries.", { entries: [] }, { root: empty }),
    "root-of-an-empty-entry": ofRoot.good(
      "The leaf of RFC 6962's own test of an empty entry.",
      { entries: [""] },
      { root: "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=" },
    ),
  };
  for (const size of [1, 2, 3, 4, 7, 8, 11]) {
    const entries = testEntries(0, size).map(textOf);
    roots[`root-of-${size}`] = ofRoot.good(`${size} entries.`, { entries }, { root: await rootAt(size) });
  }
  const proofs: LogVectors = {
    "inclusion-alone": ofInclusion.good("The only entry: the proof is empty.", await inclusionOf(0, 1)),
    "inclusion-first": ofInclusion.good("The first entry.", await inclusionOf(0, size)),
    "inclusion-middle": ofInclusion.good("Left and right siblings.", await inclusionOf(5, size)),
    "inclusion-last": ofInclusion.good("The last entry, whose path is shorter.", await inclusionOf(10, size)),
    "inclusion-in-perfect-tree": ofInclusion.good("Eight entries.", await inclusionOf(6, 8)),
    "consistency-same-size": ofConsistency.good("Equal trees: the proof is empty.", await consistencyOf(7, 7)),
    "consistency-from-one": ofConsistency.good("From the first entry.", await consistencyOf(1, size)),
    "consistency-from-perfect-tree": ofConsistency.good(
      "The older tree is a node of the newer one, and is not in the proof.",
      await consistencyOf(8, size),
    ),
    "consistency-ragged": ofConsistency.good("Neither size is a power of two.", await consistencyOf(7, size)),
    "consistency-by-one": ofConsistency.good("One more entry.", await consistencyOf(10, size)),
  };
  return { ...roots, ...proofs };
}

export async function invalidTrees(): Promise<LogVectors> {
  const inclusion = await inclusionOf(5, size);
  const consistency = await consistencyOf(7, size);
  const [first = "", second = "", ...rest] = inclusion.proof;
  const [one = "", two = "", ...others] = consistency.proof;
  const notIncluded = (description: string, change: object) =>
    ofInclusion.bad("not_included", description, { ...inclusion, ...change });
  const notConsistent = (description: string, change: object) =>
    ofConsistency.bad("not_consistent", description, { ...consistency, ...change });
  const zero = { size: 0, root: base64(new TestLog().range.root()) };
  return {
    "inclusion-of-another-entry": notIncluded("The proof is that of another entry.", { entry: entry(6) }),
    "inclusion-at-another-index": notIncluded("The entry stands at 5.", { index: 4 }),
    "inclusion-beyond-the-tree": notIncluded("There is no entry 11 in a tree of 11.", { index: size }),
    "inclusion-in-another-size": ofInclusion.bad("not_included", "The tree has 11 entries.", {
      ...(await inclusionOf(10, size)),
      size: 12,
    }),
    "inclusion-with-another-root": notIncluded("One bit of the root differs.", { root: flip(root) }),
    "inclusion-with-a-flipped-bit": notIncluded("One bit of the proof differs.", {
      proof: [first, flip(second), ...rest],
    }),
    "inclusion-too-short": notIncluded("The last hash is left out.", { proof: inclusion.proof.slice(0, -1) }),
    "inclusion-too-long": notIncluded("The root is added.", { proof: [...inclusion.proof, root] }),
    "inclusion-in-another-order": notIncluded("Two hashes change places.", { proof: [second, first, ...rest] }),
    "inclusion-of-a-node": ofInclusion.bad(
      "not_included",
      "A node is passed off as the only entry; its prefix differs.",
      {
        entry_base64: base64(Buffer.concat([hasher.leaf(testEntry(0)), hasher.leaf(testEntry(1))])),
        ...{ index: 0, size: 1, root: await rootAt(2), proof: [] },
      },
    ),
    "consistency-with-another-older-root": notConsistent("One bit of the older root differs.", {
      older: { ...consistency.older, root: flip(consistency.older.root) },
    }),
    "consistency-with-another-newer-root": notConsistent("One bit of the newer root differs.", {
      newer: { ...consistency.newer, root: flip(consistency.newer.root) },
    }),
    "consistency-with-a-flipped-bit": notConsistent("One bit of the proof differs.", {
      proof: [one, flip(two), ...others],
    }),
    "consistency-too-short": notConsistent("The last hash is left out.", { proof: consistency.proof.slice(0, -1) }),
    "consistency-too-long": notConsistent("A hash is added.", { proof: [...consistency.proof, root] }),
    "consistency-backwards": notConsistent("The older tree is larger.", {
      older: consistency.newer,
      newer: consistency.older,
    }),
    "consistency-of-swapped-roots": notConsistent("The roots change places.", {
      older: { ...consistency.older, root: consistency.newer.root },
      newer: { ...consistency.newer, root: consistency.older.root },
    }),
    "consistency-from-nothing": notConsistent("No proof begins with an empty tree.", { older: zero, proof: [] }),
    "consistency-of-forks": ofConsistency.bad("not_consistent", "Two trees of the same size with different roots.", {
      ...(await consistencyOf(7, 7)),
      newer: { size: 7, root: flip(await rootAt(7)) },
    }),
    "consistency-of-equal-trees-with-a-proof": ofConsistency.bad("not_consistent", "The proof must be empty.", {
      ...(await consistencyOf(7, 7)),
      proof: [root],
    }),
    "consistency-with-the-older-root-in-the-proof": ofConsistency.bad(
      "not_consistent",
      "The older tree is a node of the newer one, and its root stands in the proof.",
      { ...(await consistencyOf(8, size)), proof: [await rootAt(8), ...(await consistencyOf(8, size)).proof] },
    ),
  };
}
