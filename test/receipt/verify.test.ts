import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contradiction, rivalOf } from "../../src/receipt/recovery.ts";
import { chainStart, type Finding, type Link, verifyEnd, verifyNext } from "../../src/receipt/verify.ts";
import { buildChain, bytesOf, type Receipt, sha256, type Vector, type VectorReceipt } from "./chain.ts";

const folder = new URL("../vectors/", import.meta.url);
const paths = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((path) => /^(?:in)?valid\//.test(path))
  .sort();
const textOf = (path: string) => readFileSync(new URL(path, folder), "utf8");
const vectors = paths.map((path) => ({ path, vector: JSON.parse(textOf(path)) as Vector }));

/** Verifies a vector completely, as a verifier does. */
function findingOf({ previous, receipts, head }: Omit<Vector, "description" | "expect">): Finding | undefined {
  let link: Link = previous ?? chainStart;
  const hashes = new Map<number, string>();
  for (const receipt of receipts) {
    const bytes = bytesOf(receipt);
    const verdict = verifyNext(link, {
      bytes,
      computedHash: sha256(bytes),
      seq: receipt.seq,
      hash: receipt.hash,
      prevHash: receipt.prev_hash,
    });
    if (!verdict.ok) return verdict.finding;
    const rival = rivalOf(verdict.document);
    if (rival !== undefined && hashes.get(rival.seq) === rival.hash) return contradiction(verdict.link.seq, rival);
    link = verdict.link;
    hashes.set(link.seq, link.hash);
  }
  return head && verifyEnd(link, head);
}

describe("vectors", () => {
  it("give the findings that they promise", () => {
    for (const { path, vector } of vectors) {
      const finding = findingOf(vector);
      const outcome = finding ? { ok: false, seq: finding.seq, fault: finding.fault } : { ok: true };
      expect.soft(outcome, `${path}: ${finding?.message}`).toEqual(vector.expect);
    }
  });

  it("have every fault for which FORMAT.md has a rule", () => {
    const rules = readFileSync(new URL("../../src/receipt/FORMAT.md", import.meta.url), "utf8").match(
      /^\| \d+ \|.*$/gm,
    );
    const named = rules?.flatMap((rule) => rule.split("|")[3]?.match(/(?<=`)\w+(?=`)/g) ?? []);
    const found = vectors.flatMap(({ vector }) => (vector.expect.ok ? [] : [vector.expect.fault]));
    expect(new Set(named)).toEqual(new Set(found));
  });

  it("get the same findings from a verifier in Python that was written from FORMAT.md", () => {
    const python = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
    const script = fileURLToPath(new URL("verify.py", import.meta.url));
    const args = [script, ...paths.map((path) => fileURLToPath(new URL(path, folder)))];
    const findings = execFileSync(python, args, { encoding: "utf8" }).trimEnd().split("\n");
    expect(findings.map((finding, index) => [paths[index], JSON.parse(finding)])).toEqual(
      vectors.map(({ path, vector }) => [path, vector.expect]),
    );
  });
});

/** A receipt as a verifier gets it: with all recorded values, or only its bytes. */
const asVector = ({ seq, prevHash, hash, bytes }: Receipt, bytesAlone = false): VectorReceipt => ({
  ...(bytesAlone ? {} : { seq, prev_hash: prevHash, hash }),
  canonical_base64: Buffer.from(bytes).toString("base64"),
});
const headOf = (chain: Receipt[]) => {
  const { seq, hash } = chain.at(-1) as Receipt;
  return { seq, hash };
};

describe("any change to a chain is found", () => {
  const chain = buildChain(6);
  const place = (atLeast: number, atMost: number) => fc.integer({ min: atLeast, max: atMost });

  it("one byte is changed anywhere in a chain of any length", () => {
    fc.assert(
      fc.property(place(1, 6), fc.nat(), fc.nat(), place(1, 255), fc.boolean(), (length, which, where, step, anew) => {
        const receipts = chain.slice(0, length);
        const index = which % length;
        const { bytes, ...receipt } = receipts[index] as Receipt;
        const changed = bytes.map((byte, at) => (at === where % bytes.length ? byte ^ step : byte));
        const hash = anew ? sha256(changed) : receipt.hash;
        const altered = receipts.with(index, { ...receipt, hash, bytes: changed });
        const finding = findingOf({ receipts: altered.map((r) => asVector(r)), head: headOf(receipts) });
        const seqs = anew ? [receipt.seq, Math.min(receipt.seq + 1, length)] : [receipt.seq];
        expect(seqs).toContain(finding?.seq);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["from what is recorded", false],
    ["from the bytes alone", true],
  ])("a receipt is removed, repeated or moved, or the end is cut off, %s", (_, bytesAlone) => {
    const find = (receipts: Receipt[], head = headOf(chain)) => {
      const finding = findingOf({ receipts: receipts.map((r) => asVector(r, bytesAlone)), head });
      return finding && { seq: finding.seq, fault: finding.fault };
    };
    const at = (seq: number) => chain[seq - 1] as Receipt;
    for (let seq = 1; seq <= 6; seq++) {
      const begun = chain.slice(0, seq);
      expect(find(begun, headOf(begun))).toBeUndefined();
      expect(find(chain.slice(0, seq - 1))).toEqual({ seq, fault: "truncated" });
      expect(find(chain.toSpliced(seq - 1, 1))).toEqual({ seq, fault: seq === 6 ? "truncated" : "gap" });
      for (let later = seq; later <= 6; later++) {
        expect(find(chain.toSpliced(later, 0, at(seq)))).toEqual({ seq: later + 1, fault: "repeat" });
        if (later === seq) continue;
        expect(find(chain.with(seq - 1, at(later)).with(later - 1, at(seq)))).toEqual({ seq, fault: "gap" });
      }
    }
  });
});

describe("verifyNext", () => {
  const [first, second] = buildChain(2) as [Receipt, Receipt];

  it("returns the document, and the link that the next receipt needs", () => {
    const verdict = verifyNext(chainStart, { bytes: first.bytes, computedHash: first.hash });
    const document = JSON.parse(Buffer.from(first.bytes).toString());
    expect(verdict).toEqual({ ok: true, link: { seq: 1, hash: first.hash, ts: document.ts }, document });
  });

  it("does not repeat control characters of the input in its messages", () => {
    const evil = "\u001b[2J\u009b2J\n";
    const claim = { bytes: second.bytes, computedHash: second.hash };
    const verdicts = [verifyNext(first, { ...claim, hash: evil }), verifyNext(first, { ...claim, prevHash: evil })];
    const messages = verdicts.map((verdict) => (verdict.ok ? evil : verdict.finding.message));
    messages.push(verifyEnd(first, { seq: 1, hash: evil })?.message ?? evil);
    for (const message of messages) expect(message).toMatch(/^[ -~]+$/);
  });
});
