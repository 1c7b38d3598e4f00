// The verifier of proofs says of the vectors of transparency-dev/merkle what they promise.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { checkInclusion } from "../../../src/tlog/tree/proofs.ts";
import { sha256 } from "../node-functions.ts";

interface Vector {
  file: string;
  proof: string[] | null;
  wantErr: boolean;
  leafIdx: number;
  treeSize: number;
  root: string;
  leafHash: string;
}

const vectors: Vector[] = JSON.parse(readFileSync(new URL("inclusion.json", import.meta.url), "utf8"));
const bytes = (base64: string) => Buffer.from(base64, "base64");

it("inclusion", async () => {
  expect(vectors.length).toBe(98);
  for (const { file, proof, wantErr, leafIdx, treeSize, root, leafHash } of vectors) {
    const hashes = (proof ?? []).map(bytes);
    const check = checkInclusion(bytes(leafHash), leafIdx, hashes, { size: treeSize, root: bytes(root) }, sha256);
    if (wantErr) await expect(check, file).rejects.toMatchObject({ name: "TlogError", code: "not_included" });
    else await check;
  }
});
