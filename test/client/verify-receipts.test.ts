import { describe, expect, it } from "vitest";
import { getObject } from "../../src/client/http.ts";
import { readLink } from "../../src/client/ledger.ts";
import { type VerifyOptions, verifyReceipts } from "../../src/client/receipts.ts";
import { buildChain, type LooseDocument, otherHash, recovered, zeros } from "../receipt/chain.ts";
import { misleadEngine } from "../receipt/misread-names.ts";
import { waitUntil } from "../support/wait.ts";
import { answerStream, collect, type FakeStoa, refuse, type Shown, show, shownChain, startFake } from "./fake-stoa.ts";

/** The seqs of the receipts that verify, and the outcome. */
async function verify(options: VerifyOptions): Promise<{ good: number[]; found: unknown }> {
  const good: number[] = [];
  try {
    for await (const { link } of verifyReceipts(options)) good.push(link.seq);
  } catch (error) {
    return { good, found: error };
  }
  return { good, found: undefined };
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const fault = (seq: number, fault: string) => expect.objectContaining({ name: "DoesNotVerify", seq, fault });

describe("a chain that is good", () => {
  it("gives each receipt with its document", async () => {
    const fake = await startFake(shownChain(5));
    const receipts = await collect(verifyReceipts({ url: fake.url }));
    expect(receipts.map(({ link }) => link.hash)).toEqual(fake.receipts.map(({ hash }) => hash));
    expect(receipts.map(({ document }) => document)).toEqual(fake.receipts.map(({ document }) => document));
  });

  it.each([2, 5])("verifies from receipt %i on, by the hash of the bytes before", async (from) => {
    const fake = await startFake(shownChain(5));
    expect(await verify({ url: fake.url, from })).toEqual({ good: numbers(from, 5), found: undefined });
    expect(fake.asked).toContain(`/api/v1/house/receipts/${from - 1}/canonical`);
  });

  it("has nothing to verify at the seq after the head, and cannot be read beyond that", async () => {
    const fake = await startFake(shownChain(5));
    expect(await verify({ url: fake.url, from: 6 })).toEqual({ good: [], found: undefined });
    const { found } = await verify({ url: fake.url, from: 7 });
    expect(found).toMatchObject({ name: "BeyondHead", message: "the chain ends at receipt 5" });
  });

  it("may have names with escapes, even if the engine misreads them", async () => {
    const evidence = [{ a: 1, 'x"': 1 }, { "\\": { "\n": [{ b: 1, "é\u0000": 1 }] } }];
    const changes = evidence.map((evidence, index) => [
      index + 2,
      { document: (each: LooseDocument) => Object.assign(each, { evidence }) },
    ]);
    const fake = await startFake(buildChain(3, Object.fromEntries(changes)).map(show));
    for (const { document } of fake.receipts) misleadEngine(document);
    const receipts = await collect(verifyReceipts({ url: fake.url }));
    expect(receipts.slice(1).map(({ document }) => document.evidence)).toEqual(evidence);
    expect(await readLink(fake.url, 2)).toMatchObject({ seq: 2, hash: fake.receipts[1].hash });
    expect(await getObject(`${fake.url}/api/v1/house/receipts?from=2`, undefined)).toMatchObject({
      receipts: [{ document: { evidence: evidence[0] } }],
    });
  });

  it("may come in several streams that end cleanly before the head", async () => {
    const fake = await startFake(shownChain(5));
    fake.intercept = (path, response) => {
      if (!path.includes("/stream")) return false;
      const from = Number(/from=(\d+)/.exec(path)?.[1]);
      const lines = fake.receipts.slice(from - 1, from + 1).map((receipt) => `${JSON.stringify(receipt)}\n`);
      return !!response.end(lines.join(""));
    };
    expect(await verify({ url: fake.url })).toEqual({ good: numbers(1, 5), found: undefined });
  });
});

describe("a wrong receipt from a service", () => {
  it.each<[string, (receipt: Shown) => void, string]>([
    ["another document", (each) => Object.assign(each.document.evidence, { bushels: 1 }), "wrong_document"],
    ["no document", (each) => delete each.document, "wrong_document"],
    [
      "a deep document",
      (each) => Object.assign(each, { rawDocument: "[".repeat(5e5) + "]".repeat(5e5) }),
      "wrong_document",
    ],
    ["another hash", (each) => Object.assign(each, { hash: otherHash }), "wrong_hash"],
    ["a hash that is none", (each) => Object.assign(each, { hash: "\u001b[2J" }), "wrong_hash"],
    ["another prev_hash", (each) => Object.assign(each, { prev_hash: otherHash }), "wrong_prev_hash"],
    ["a negative seq", (each) => Object.assign(each, { seq: -3 }), "repeat"],
  ])("is found when it is %s", async (_, distort, expected) => {
    const fake = await startFake(shownChain(5));
    distort(fake.receipts[2]);
    const { good, found } = await verify({ url: fake.url });
    expect({ good, found }).toEqual({ good: [1, 2], found: fault(3, expected) });
    expect((found as Error).message).toMatch(/^[\x20-\x7e]+$/);
  });

  it("is found when canonical holds a lone surrogate, which would be encoded as another character", async () => {
    const [last] = buildChain(3, { 3: { document: (each) => Object.assign(each.evidence, { x: "\ufffd" }) } }).slice(2);
    const fake = await startFake(shownChain(3));
    fake.receipts[2] = show(last as NonNullable<typeof last>);
    expect((await verify({ url: fake.url })).found).toBeUndefined();
    fake.receipts[2].canonical = fake.receipts[2].canonical.replace("\ufffd", "\ud800");
    expect((await verify({ url: fake.url })).found).toEqual(fault(3, "not_utf8"));
  });

  it("is found when a recovery abandons a receipt that the service still shows", async () => {
    const [, , third] = shownChain(3);
    const fake = await startFake(buildChain(5, recovered(5, 3, third.hash)).map(show));
    const { good, found } = await verify({ url: fake.url });
    expect({ good, found }).toEqual({ good: [1, 2, 3, 4], found: fault(5, "wrong_recovery") });
  });

  it("is found if it comes before --from and is not a receipt", async () => {
    const fake = await startFake(shownChain(5));
    fake.receipts[1].canonical = "{}";
    expect((await verify({ url: fake.url, from: 3 })).found).toEqual(fault(2, "bad_document"));
  });
});

describe("the end of a chain", () => {
  it("must reach the head that was announced", async () => {
    const fake = await startFake(shownChain(5));
    fake.headSeq = 7;
    const { good, found } = await verify({ url: fake.url });
    expect({ good, found }).toEqual({ good: numbers(1, 5), found: fault(6, "truncated") });
  });

  it("must be the receipt that was announced", async () => {
    const fake = await startFake(shownChain(5));
    const head = { seq: 4, hash: otherHash };
    expect((await verify({ url: fake.url, head })).found).toEqual(fault(4, "wrong_hash"));
    expect((await verify({ url: fake.url, head, from: 5 })).found).toEqual(fault(4, "wrong_hash"));
  });

  it.each([
    ["is gone from the middle", 3, "gap"],
    ["is gone from the end", 5, "truncated"],
  ])("is determined if the service fails because a receipt %s", async (_, missing, expected) => {
    const fake = await startFake(shownChain(5));
    const lines = fake.receipts.slice(0, missing - 1).map((receipt) => `${JSON.stringify(receipt)}\n`);
    answerStream(fake, ...lines, '{"ok":false,"error":"internal","message":"Something went wrong here."}\n');
    const { intercept } = fake;
    fake.intercept = (path, response) => {
      if (!path.includes(`from=${missing}&`)) return intercept?.(path, response) === true;
      const page = { receipts: fake.receipts.slice(missing, missing + 1), next_from: null, head_seq: 5 };
      return !!response.end(JSON.stringify(page));
    };
    expect((await verify({ url: fake.url, head: { seq: 5, hash: undefined } })).found).toEqual(
      fault(missing, expected),
    );
  });

  it("is unknown if the service fails although it has the receipt", async () => {
    const fake = await startFake(shownChain(5));
    answerStream(fake, `${JSON.stringify(fake.receipts[0])}\n`, '{"ok":false,"error":"internal","message":"Oh."}\n');
    const { good, found } = await verify({ url: fake.url });
    expect({ good, found }).toMatchObject({
      good: [1],
      found: { name: "StoaError", kind: "refused", code: "internal" },
    });
  });
});

it("the hash of another receipt is not used as the hash of the head", async () => {
  const fake = await startFake(shownChain(5));
  fake.intercept = (path, response) => {
    if (!path.endsWith("from=5&limit=1")) return false;
    return !!response.end(JSON.stringify({ receipts: [fake.receipts[3]], next_from: null, head_seq: 5 }));
  };
  expect(await verify({ url: fake.url })).toEqual({ good: numbers(1, 5), found: undefined });
  expect(fake.asked).toContain("/api/v1/house/receipts?from=5&limit=1");
});

describe("a remembered receipt", () => {
  const other = { seq: 3, hash: otherHash };
  const changed = expect.objectContaining({ name: "DoesNotVerify", seq: 3, fault: "history_changed" });

  it.each([1, 3, 4, 6])("is compared when verification starts at %i", async (from) => {
    const fake = await startFake(shownChain(5));
    const same = { seq: 3, hash: fake.receipts[2].hash };
    expect(await verify({ url: fake.url, from, known: same })).toEqual({ good: numbers(from, 5), found: undefined });
    const { found } = await verify({ url: fake.url, from, known: other });
    expect(found).toEqual(changed);
    expect((found as Error).message).toBe(`receipt 3 was ${otherHash}, is now ${same.hash}`);
  });

  it("is reported as missing if the chain is now shorter", async () => {
    const fake = await startFake(shownChain(2));
    const { found } = await verify({ url: fake.url, known: other });
    expect(found).toEqual(changed);
    expect((found as Error).message).toBe(`receipt 3 was ${otherHash}, is now gone: the chain ends at 2`);
  });

  it.each([
    ["the one that a recovery abandons", 3, otherHash, true],
    ["below the one that a recovery abandons", 9, zeros, false],
    ["not the one that a recovery abandons", 3, zeros, false],
    ["above the one that a recovery abandons", 2, otherHash, false],
  ])("is reported as missing together with the recovery that abandons it: it is %s", async (_, seq, hash, isNamed) => {
    for (const length of [2, 5]) {
      const at = length === 2 ? 2 : 4;
      const fake = await startFake(buildChain(length, recovered(at, seq, hash)).map(show));
      const { found } = await verify({ url: fake.url, known: other });
      expect(found).toEqual(changed);
      const words = `; receipt ${at} is a recovery, by which the operator abandons receipt ${seq}`;
      expect((found as Error).message.endsWith(words)).toBe(isNamed);
    }
  });

  it("is explained by the recovery that names it, and not by an older one that abandons a newer receipt", async () => {
    const recoveries = { ...recovered(3, 9, zeros), ...recovered(4, other.seq, other.hash) };
    const fake = await startFake(buildChain(5, recoveries).map(show));
    const { found } = await verify({ url: fake.url, known: other });
    const words = "; receipt 4 is a recovery, by which the operator abandons receipt 3";
    expect((found as Error).message.endsWith(words)).toBe(true);
  });

  it("is reported as missing if the chain is now empty", async () => {
    const fake = await startFake([]);
    expect((await verify({ url: fake.url, known: other })).found).toEqual(changed);
  });
});

describe("a chain that is followed", () => {
  async function rewriteWhileAway(fake: FakeStoa, receipts: Shown[]): Promise<{ good: number[]; found: unknown }> {
    const onInterruption = () => {
      fake.receipts = receipts;
    };
    const following = verify({ url: fake.url, follow: true, onInterruption });
    await waitUntil("the follower", () => fake.followers.size === 1);
    for (const each of fake.followers) each.end();
    return following;
  }

  it("is reported as another chain if the service returns with another one", async () => {
    const fake = await startFake(shownChain(4));
    const other = buildChain(5, { 2: { document: (each) => Object.assign(each.evidence, { bushels: 1 }) } }).map(show);
    expect(await rewriteWhileAway(fake, other)).toEqual({ good: numbers(1, 4), found: fault(5, "wrong_prev_hash") });
  });

  it("is reported as shorter if the service returns with fewer receipts", async () => {
    const fake = await startFake(shownChain(4));
    expect(await rewriteWhileAway(fake, shownChain(2))).toEqual({ good: numbers(1, 4), found: fault(4, "truncated") });
  });

  it("is reported as repeating if the service ignores `from`", async () => {
    const fake = await startFake(shownChain(2));
    fake.intercept = (path, response) => {
      if (!path.includes("/stream")) return false;
      return !!response.end(fake.receipts.map((receipt) => `${JSON.stringify(receipt)}\n`).join(""));
    };
    expect(await verify({ url: fake.url, follow: true })).toEqual({ good: [1, 2], found: fault(3, "repeat") });
  });
});

it("a service without a page of receipts is not Stoa", async () => {
  const fake = await startFake([]);
  for (const body of ["[]", "{}", '{"receipts":[],"head_seq":"1"}', '{"receipts":{},"head_seq":1}', "null", "x", ""]) {
    fake.intercept = (_, response) => !!response.end(body);
    expect((await verify({ url: fake.url })).found, body).toMatchObject({ name: "StoaError", kind: "unusable" });
  }
  fake.intercept = (_, response) => {
    refuse(response, 404, { error: "not_found", message: "There is nothing at this address." });
    return true;
  };
  expect((await verify({ url: fake.url })).found).toMatchObject({ name: "StoaError", kind: "refused" });
});
