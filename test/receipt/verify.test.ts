import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { vectorFiles } from "../../scripts/vectors.ts";
import { contradiction, rivalOf } from "../../src/receipt/recovery.ts";
import { chainStart, type Finding, type Link, verifyEnd, verifyNext } from "../../src/receipt/verify.ts";
import { byteChanges } from "./byte-changes.ts";
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
  it("are the output of scripts/vectors.ts", () => {
    const files = vectorFiles();
    expect(paths).toEqual([...files.keys()].sort());
    for (const [path, text] of files) expect(textOf(path), path).toBe(text);
  });

  it("give the findings that they promise", () => {
    for (const { path, vector } of vectors) {
      const finding = findingOf(vector);
      const outcome = finding ? { ok: false, seq: finding.seq, fault: finding.fault } : { ok: true };
      expect.soft(outcome, `${path}: ${finding?.message}`).toEqual(vector.expect);
    }
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

  it("each byte of a receipt is changed in many ways, and its recorded hash stays", () => {
    const { seq, hash, prevHash, bytes } = chain[3] as Receipt;
    const previous = chain[2] as Receipt;
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice();
      for (const step of byteChanges) {
        changed[at] = (bytes[at] as number) ^ step;
        const verdict = verifyNext(previous, { bytes: changed, computedHash: sha256(changed), seq, hash, prevHash });
        if (verdict.ok || verdict.finding.fault !== "wrong_hash" || verdict.finding.seq !== seq) {
          throw new Error(`byte ${at} may be ${changed[at]}`);
        }
      }
    }
  });

  it("each byte of a receipt is changed in many ways and its hash is recomputed; it is found there or at the next", () => {
    const { seq, prevHash, bytes } = chain[3] as Receipt;
    const previous = chain[2] as Receipt;
    const next = chain[4] as Receipt;
    const nextClaim = { bytes: next.bytes, computedHash: next.hash, seq: next.seq, hash: next.hash };
    let foundAtNext = 0;
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice();
      for (const step of byteChanges) {
        changed[at] = (bytes[at] as number) ^ step;
        const computedHash = sha256(changed);
        const verdict = verifyNext(previous, { bytes: changed, computedHash, seq, hash: computedHash, prevHash });
        if (!verdict.ok) {
          if (verdict.finding.seq !== seq) throw new Error(`byte ${at} is found at ${verdict.finding.seq}`);
          continue;
        }
        foundAtNext++;
        const after = verifyNext(verdict.link, nextClaim);
        if (after.ok || after.finding.fault !== "wrong_prev_hash") throw new Error(`byte ${at} may be ${changed[at]}`);
        const end = verifyEnd(verdict.link, { seq, hash: (chain[3] as Receipt).hash });
        if (end?.fault !== "wrong_hash") throw new Error(`byte ${at} may be ${changed[at]} at the end`);
      }
    }
    expect(foundAtNext).toBeGreaterThan(4 * byteChanges.length);
  });

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
      { numRuns: 500 },
    );
  });

  for (const bytesAlone of [false, true]) {
    const from = bytesAlone ? "from the bytes alone" : "from what is recorded";
    const find = (receipts: Receipt[], head = headOf(chain)) => {
      const finding = findingOf({ receipts: receipts.map((r) => asVector(r, bytesAlone)), head });
      return finding && { seq: finding.seq, fault: finding.fault };
    };

    it(`a receipt is removed, ${from}`, () => {
      for (let seq = 1; seq <= 6; seq++) {
        const fault = seq === 6 ? "truncated" : "gap";
        expect(find(chain.toSpliced(seq - 1, 1))).toEqual({ seq, fault });
      }
    });

    it(`a receipt is repeated, ${from}`, () => {
      for (let seq = 1; seq <= 6; seq++) {
        for (let at = seq; at <= 6; at++) {
          const receipts = chain.toSpliced(at, 0, chain[seq - 1] as Receipt);
          expect(find(receipts)).toEqual({ seq: at + 1, fault: "repeat" });
        }
      }
    });

    it(`two receipts are swapped, ${from}`, () => {
      for (let first = 1; first <= 6; first++) {
        for (let second = first + 1; second <= 6; second++) {
          const receipts = chain
            .with(first - 1, chain[second - 1] as Receipt)
            .with(second - 1, chain[first - 1] as Receipt);
          expect(find(receipts)).toEqual({ seq: first, fault: "gap" });
        }
      }
    });

    it(`the end is cut off, ${from}`, () => {
      for (let length = 0; length < 6; length++) {
        expect(find(chain.slice(0, length))).toEqual({ seq: length + 1, fault: "truncated" });
      }
    });

    it(`nothing is found if nothing was changed, ${from}`, () => {
      for (let length = 1; length <= 6; length++) {
        expect(find(chain.slice(0, length), headOf(chain.slice(0, length)))).toBeUndefined();
      }
    });
  }
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

  it("reports a document as nested too deep if the parser gives up", () => {
    // V8's parser does not recurse. The parsers of other engines throw something other than a SyntaxError.
    const parse = vi.spyOn(JSON, "parse").mockImplementation(() => {
      throw new RangeError("Maximum call stack size exceeded.");
    });
    const verdict = verifyNext(first, { bytes: second.bytes, computedHash: second.hash });
    parse.mockRestore();
    expect(verdict).toMatchObject({ ok: false, finding: { seq: 2, fault: "not_canonical" } });
  });
});
