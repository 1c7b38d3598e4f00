// The verifier of proofs says of the vectors of transparency-dev/merkle what they promise.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { TlogError } from "../../../src/tlog/error.ts";
import { checkInclusion } from "../../../src/tlog/tree/proofs.ts";
import { checkConsistency } from "../consistency.ts";
import { sha256 } from "../node-functions.ts";

interface Vector {
  file: string;
  proof: string[] | null;
  wantErr: boolean;
}
type Inclusion = Vector & { leafIdx: number; treeSize: number; root: string; leafHash: string };
type Consistency = Vector & { size1: number; size2: number; root1: string; root2: string };

const read = <Kind>(name: string): Kind[] =>
  JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8")) as Kind[];
const bytes = (base64: string) => Buffer.from(base64, "base64");
const proofOf = ({ proof }: Vector) => (proof ?? []).map(bytes);

async function isRefused(check: Promise<void>, code: string): Promise<boolean> {
  try {
    await check;
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(TlogError);
    expect(error).toMatchObject({ code });
    return true;
  }
}

it("inclusion", async () => {
  const vectors = read<Inclusion>("inclusion");
  expect(vectors.length).toBe(98);
  for (const vector of vectors) {
    const tree = { size: vector.treeSize, root: bytes(vector.root) };
    const check = checkInclusion(bytes(vector.leafHash), vector.leafIdx, proofOf(vector), tree, sha256);
    expect({ [vector.file]: await isRefused(check, "not_included") }).toEqual({ [vector.file]: vector.wantErr });
  }
});

it("consistency", async () => {
  const vectors = read<Consistency>("consistency");
  expect(vectors.length).toBe(98);
  for (const vector of vectors) {
    const older = { size: vector.size1, root: bytes(vector.root1) };
    const newer = { size: vector.size2, root: bytes(vector.root2) };
    const check = checkConsistency(older, newer, proofOf(vector), sha256);
    expect({ [vector.file]: await isRefused(check, "not_consistent") }).toEqual({ [vector.file]: vector.wantErr });
  }
});
