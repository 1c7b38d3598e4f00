// What the vectors of proofs do not say.
import { expect, it } from "vitest";
import { formatProof, parseProof } from "../../../src/tlog/proofs/tlog-proof.ts";
import { checkpointOf, partsOf } from "../sample-log.ts";

const checkpoint = await checkpointOf(await partsOf(0));
const badProof = expect.objectContaining({ name: "TlogError", code: "bad_proof" });
const withHashes = (count: number) => {
  const hashes = Array.from({ length: count }, () => new Uint8Array(32));
  return parseProof(formatProof({ extra: undefined, index: 0, hashes, checkpoint }));
};
const withExtra = (bytes: number) =>
  parseProof(formatProof({ extra: new Uint8Array(bytes), index: 0, hashes: [], checkpoint }));

it("a proof may have no extra data and no hashes", () => {
  expect(withHashes(0)).toMatchObject({ extra: undefined, index: 0, hashes: [] });
});

it("a proof has at most 53 hashes, 256 KiB of extra data, and not much else", () => {
  expect(withHashes(53).hashes).toHaveLength(53);
  expect(() => withHashes(54)).toThrow(badProof);
  expect(withExtra(262_144).extra).toHaveLength(262_144);
  expect(() => withExtra(262_145)).toThrow(badProof);
  expect(() => parseProof(new Uint8Array(50_000_000))).toThrow(badProof);
});

it.each([
  ["extra data twice", "extra eA==\nextra eA==\nindex 7\n"],
  ["extra data with unused bits", "extra eB==\nindex 7\n"],
  ["an index below zero", "index -1\n"],
  ["an index beyond 2^53", "index 9007199254740992\n"],
])("a proof with %s is refused", (_, lines) => {
  const text = `c2sp.org/tlog-proof@v1\n${lines}\n${Buffer.from(checkpoint)}`;
  expect(() => parseProof(Buffer.from(text))).toThrow(badProof);
});
