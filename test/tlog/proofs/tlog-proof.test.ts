import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { TlogError } from "../../../src/tlog/error.ts";
import { formatProof, parseProof, type TlogProof, verifyProof } from "../../../src/tlog/proofs/tlog-proof.ts";
import { changedBytes, changedText } from "../mutations.ts";
import { functions } from "../node-functions.ts";
import { at, checkpointOf, partsOf, proofOf, sampleEntries, sampleKey } from "../sample-log.ts";

const hash = toBase64(new Uint8Array(32).fill(9));
let checkpoint: string;

beforeAll(async () => {
  checkpoint = Buffer.from(await checkpointOf(await partsOf(0))).toString();
});

const parse = (text: string) => parseProof(Buffer.from(text));
const badProof = expect.objectContaining({ name: "TlogError", code: "bad_proof" });

it("is text by C2SP tlog-proof", () => {
  const proof = {
    extra: Buffer.from("x"),
    index: 7,
    hashes: [new Uint8Array(32).fill(9)],
    checkpoint: Buffer.from(checkpoint),
  };
  const text = `c2sp.org/tlog-proof@v1\nextra eA==\nindex 7\n${hash}\n\n${checkpoint}`;
  expect(Buffer.from(formatProof(proof)).toString()).toBe(text);
  const parsed = parse(text);
  expect(parsed.index).toBe(7);
  expect(Buffer.from(parsed.extra as Uint8Array).toString()).toBe("x");
  expect(parsed.hashes.map(toBase64)).toEqual([hash]);
  expect(Buffer.from(parsed.checkpoint).toString()).toBe(checkpoint);
});

it("may have no extra data and no hashes", () => {
  expect(parse(`c2sp.org/tlog-proof@v1\nindex 0\n\n${checkpoint}`)).toMatchObject({
    extra: undefined,
    index: 0,
    hashes: [],
  });
});

it("is refused for each defect alone", () => {
  const head = "c2sp.org/tlog-proof@v1\nextra eA==\nindex 7\n";
  const bad = {
    nothing: "",
    "the checkpoint alone": checkpoint,
    "another version": `c2sp.org/tlog-proof@v2\nextra eA==\nindex 7\n\n${checkpoint}`,
    "extra data that is empty": `c2sp.org/tlog-proof@v1\nextra \nindex 7\n\n${checkpoint}`,
    "extra data that is not base64": `c2sp.org/tlog-proof@v1\nextra eA\nindex 7\n\n${checkpoint}`,
    "extra data with unused bits": `c2sp.org/tlog-proof@v1\nextra eB==\nindex 7\n\n${checkpoint}`,
    "extra data twice": `c2sp.org/tlog-proof@v1\nextra eA==\nextra eA==\nindex 7\n\n${checkpoint}`,
    "extra data after the index": `c2sp.org/tlog-proof@v1\nindex 7\nextra eA==\n\n${checkpoint}`,
    "no index": `c2sp.org/tlog-proof@v1\nextra eA==\n${hash}\n\n${checkpoint}`,
    "an index with a zero": `c2sp.org/tlog-proof@v1\nextra eA==\nindex 07\n\n${checkpoint}`,
    "an index below zero": `c2sp.org/tlog-proof@v1\nextra eA==\nindex -1\n\n${checkpoint}`,
    "an index beyond 2^53": `c2sp.org/tlog-proof@v1\nextra eA==\nindex 9007199254740992\n\n${checkpoint}`,
    "a short hash": `${head}${toBase64(new Uint8Array(31))}\n\n${checkpoint}`,
    "a hash with a space": `${head}${hash} \n\n${checkpoint}`,
    "line ends of Windows": `${head}${hash}\n\n${checkpoint}`.replaceAll("\n", "\r\n"),
    "no empty line": `${head}${hash}\n${checkpoint.replaceAll("\n\n", "\n")}`,
    "54 hashes": `${head}${`${hash}\n`.repeat(54)}\n${checkpoint}`,
  };
  for (const [what, text] of Object.entries(bad)) expect(() => parse(text), what).toThrow(badProof);
  expect(parse(`${head}${`${hash}\n`.repeat(53)}\n${checkpoint}`).hashes).toHaveLength(53);
  expect(() => parseProof(Uint8Array.of(0xff, 0x0a, 0x0a))).toThrow(badProof);
});

it("has at most 256 KiB of extra data, and not much else", () => {
  const withExtra = (bytes: number) => ({
    extra: new Uint8Array(bytes),
    index: 0,
    hashes: [],
    checkpoint: Buffer.from(checkpoint),
  });
  expect(parseProof(formatProof(withExtra(262_144))).extra).toHaveLength(262_144);
  expect(() => parseProof(formatProof(withExtra(262_145)))).toThrow(badProof);
  expect(() => parseProof(new Uint8Array(50_000_000))).toThrow(badProof);
});

it("verifies for its entry alone", async () => {
  const proof = parseProof(await proofOf(at.post));
  const entry = (index: number) => Buffer.from(sampleEntries[index]?.entry as string);
  expect(await verifyProof(proof, entry(at.post), [sampleKey], functions)).toMatchObject({
    checkpoint: { size: sampleEntries.length },
  });
  await expect(verifyProof(proof, entry(at.agent), [sampleKey], functions)).rejects.toMatchObject({
    code: "not_included",
  });
});

it("with any change is refused, or proves the same entry at the same place", async () => {
  const index = at.comment;
  const proof = await proofOf(index);
  const entry = Buffer.from(sampleEntries[index]?.entry as string);
  const text = Buffer.from(proof).toString();
  const changed = fc.oneof(
    changedText(text).map((text) => Buffer.from(text)),
    changedBytes(proof),
  );
  await fc.assert(
    fc.asyncProperty(changed, async (bytes) => {
      let parsed: TlogProof;
      try {
        parsed = parseProof(bytes);
        await verifyProof(parsed, entry, [sampleKey], functions);
      } catch (error) {
        expect(error).toBeInstanceOf(TlogError);
        return;
      }
      expect(parsed.index).toBe(index);
    }),
    { numRuns: 2000 },
  );
});
