import {
  buildChain,
  documentAt,
  type LooseDocument,
  otherHash,
  type Receipt,
  sha256,
  toVector,
  type Vector,
  zeros,
} from "../chain.ts";
import { numberSamples } from "../rfc8785.ts";
import { recovered } from "./defect.ts";

/** `levels` nested arrays; the innermost is empty. */
const nestedArrays = (levels: number): LooseDocument => JSON.parse("[".repeat(levels) + "]".repeat(levels));

/** Chains that verify, by file name. */
export function validVectors(): { [name: string]: Vector } {
  const headOf = (chain: Receipt[]) => ({ seq: chain.at(-1)?.seq as number, hash: chain.at(-1)?.hash as string });
  const vector = (description: string, chain: Receipt[], previous?: Vector["previous"]): Vector => ({
    description,
    ...(previous && { previous }),
    receipts: chain.map(toVector),
    head: chain.length === 0 ? (previous ?? { seq: 0, hash: zeros }) : headOf(chain),
    expect: { ok: true },
  });
  /** Receipt 2 of three is changed. */
  const changed = (description: string, document: (document: LooseDocument) => void) =>
    vector(description, buildChain(3, { 2: { document } }));
  const evidence = (evidence: LooseDocument) => ({ document: (d: LooseDocument) => Object.assign(d, { evidence }) });
  const long = buildChain(9);
  const previous = headOf(long.slice(0, 4));

  /** Receipt 4 is a recovery from a chain that had gone on to receipt `seq`. */
  const recovery = (description: string, seq: number, hash = otherHash) =>
    vector(description, buildChain(6, recovered(4, seq, hash)));

  return {
    "genesis-alone": vector("The first receipt, and no other.", buildChain(1)),
    "sessions-and-dailies": vector("Four days: a genesis, then a session and a daily for each.", long),
    "from-the-middle": vector("Receipts 5 to 9, after the hash of receipt 4.", long.slice(4), previous),
    "nothing-new": vector("No receipt after the one that is known; it is the head.", [], previous),
    "no-head": { ...vector("No head was promised: the end is not checked.", buildChain(2)), head: undefined as never },
    "bytes-alone": {
      ...vector("Nothing is recorded beside the bytes.", buildChain(3)),
      receipts: buildChain(3).map((receipt) => ({ canonical: toVector(receipt).canonical as string })),
    },
    "unicode-in-evidence": changed(
      "Names and strings from every plane, in the order of their UTF-16 code units.",
      (d) => {
        d.evidence = JSON.parse(`{
        "": "the empty name", "\\r": "a control character", "1": "one", "10": "ten", "2": "two", "A": "capital", "a": "small",
        "\\u0080": "C1", "ö": "composed", "o\\u0308": "not composed, and left so", "€": "euro", "\\ud83d\\ude00": "astral",
        "\\ufb33": "after the astral ones", "\\uffff": "the last code unit", "\\\\\\"/": "\\\\ \\" /",
        "escapes": "\\b\\t\\n\\f\\r\\u0000\\u000b\\u001f", "kept": "\\u007f\\u0085\\u2028\\u2029\\ufeff\\ufffe\\udbff\\udfff",
        "__proto__": {"seq": 1}, "constructor": "c", "toString": null, "hasOwnProperty": []
      }`);
      },
    ),
    "escapes-in-names": vector(
      "Names of which one begins, as it is written, like one before is: parsers may take it for that one.",
      buildChain(7, {
        2: evidence({ a: 1, "x\\": 1 }),
        3: evidence({ a: 1, 'x"': 1 }),
        4: evidence({ a: 1, "x\n": 1 }),
        5: evidence({ a: { "x\\u": 1, "é\\": 1, "😀\\": 1 } }),
        6: evidence({ a: { "x\u0000y": 1, 'é"': 1, "😀\t": 1 } }),
        7: evidence({
          a: {
            "x\u001f\\": [
              { "": 1, "\\": { "\b": 1 } },
              { "": 1, '"': { "\\": 1 } },
            ],
          },
        }),
      }),
    ),
    "numbers-in-evidence": changed("The numbers of RFC 8785's appendix B, and those at the edges of notation.", (d) => {
      d.evidence = {
        samples: numberSamples.map(({ value }) => value).filter(Number.isFinite),
        edges: [
          1e20,
          1e21,
          123456789012345680000,
          1e-6,
          1e-7,
          1.5e-9,
          0.1,
          -0.5,
          100,
          2 ** 53,
          2.2250738585072014e-308,
        ],
      };
    }),
    "nesting-at-the-limit": changed("The innermost array is at level 200.", (d) => {
      d.evidence = { deep: nestedArrays(199) };
    }),
    "members-of-later-versions": changed(
      "Members, a kind, a type of body and references that version 1 does not know.",
      (d) => {
        d.kind = "note";
        d.refs = ["r:1", { seq: 1 }];
        d.mood = { actor: 1 };
        d.actor.shift = "night";
        d.body = { type: "tide", count: d.body.count, head: d.body.head, session: 7, verify_ok: "perhaps" };
      },
    ),
    "recovery-below": recovery("Receipts 4 to 9 were served, and lost by a restore; receipt 4 says so.", 9),
    "recovery-of-the-place": recovery("Another receipt 4 was served.", 4),
    "recovery-beside": recovery("Another receipt 3 was served; the chain has one of its own.", 3),
    "recovery-beside-an-older": recovery("Another receipt 2 was served; two have followed in its place.", 2),
    "recovery-from-the-middle": vector(
      "Receipt 5 abandons another receipt 2. Only the hash of receipt 3 is known here.",
      buildChain(6, recovered(5, 2, otherHash)).slice(3),
      headOf(buildChain(3)),
    ),
    recoveries: vector(
      "Two recoveries, one after the other.",
      buildChain(6, { ...recovered(4, 9, otherHash), ...recovered(5, 12, sha256(new Uint8Array())) }),
    ),
    "same-ts": changed("Two receipts of one millisecond.", (d) => {
      d.ts = documentAt(1, zeros).ts;
    }),
    "leap-days": vector(
      "The ends of February, in a leap year, a leap century and another year, and the last day there is.",
      buildChain(4, {
        1: { document: (d) => Object.assign(d, { ts: "2000-02-29T23:59:59.999Z" }) },
        2: { document: (d) => Object.assign(d.body, { session: "1900-02-28" }) },
        3: { document: (d) => Object.assign(d, { ts: "2028-02-29T00:00:00.000Z" }) },
        4: { document: (d) => Object.assign(d, { ts: "9999-12-31T23:59:59.999Z" }) },
      }),
    ),
    "large-integers": changed("2^53 - 1 is the largest integer of a member.", (d) => {
      d.city_day = Number.MAX_SAFE_INTEGER;
    }),
  };
}
